/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/fedsim/program/fedsim.h"

#ifdef TF_MIMALLOC
#include <mimalloc.h>
#include <stdint.h>
#include <sys/mman.h>

#define MIB ((size_t)1 << 20)
#define ROOM (4096 * MIB)
#define ALIGN (64 * MIB) /* of what the allocator manages */

/* A long run walks over hundreds of megabytes of small records, and a tenth of its time was the processor's
 * search for pages of 4 KiB. The allocator can ask for large ones by itself only if its environment says so
 * when the program begins, so it is given a room of them: addresses, which cost nothing until they are used.
 * Without (a limit of the system's), or when it is full, memory comes as before. */
static void prepare_memory(void)
{
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    char *at = mmap(NULL, ROOM + ALIGN, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (at == MAP_FAILED)
        return;
    at += ALIGN - (uintptr_t)at % ALIGN;
    if (!madvise(at, ROOM, MADV_HUGEPAGE))
        (void)mi_manage_os_memory(at, ROOM, true, false, true, -1);
}
#else
static void prepare_memory(void)
{
}
#endif

int main(int argc, char **argv)
{
    prepare_memory();
    return fedsim_main(argc, argv);
}
