/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_BASE_ALLOC_H
#define TF_BASE_ALLOC_H

#include <stddef.h>

/* None of these returns NULL: when memory is exhausted they say so on stderr and abort (the truth is in the
 * store). A size that a peer or a file chose is bounded by the caller first. Results are owned by the caller;
 * free(). */
void *tf_malloc(size_t size) __attribute__((malloc, alloc_size(1)));
void *tf_calloc(size_t count, size_t size) __attribute__((malloc, alloc_size(1, 2)));
void *tf_reallocarray(void *p, size_t count, size_t size) __attribute__((alloc_size(2, 3)));
char *tf_strdup(const char *s) __attribute__((malloc));            /* NULL gives NULL */
char *tf_strndup(const char *s, size_t n) __attribute__((malloc)); /* at most n bytes of s */
void *tf_memdup(const void *p, size_t size);                       /* NULL or size 0 gives NULL */
char *tf_asprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2), malloc));

/* Frees *s and puts a copy of value (may be NULL, may not alias *s) in its place. */
void tf_str_set(char **s, const char *value);

#endif
