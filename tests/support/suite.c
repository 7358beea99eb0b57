/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/suite.h"

#include <CUnit/Basic.h>

#include <inttypes.h>

int suite_run(const char *name, const struct suite_test *tests, size_t count)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (CU_initialize_registry() != CUE_SUCCESS)
        return 1;
    CU_pSuite suite = CU_add_suite(name, NULL, NULL);
    for (size_t i = 0; i < count; i++)
        if (!suite || !CU_add_test(suite, tests[i].name, tests[i].run))
            return 1;
    CU_basic_set_mode(CU_BRM_VERBOSE);
    CU_ErrorCode code = CU_basic_run_tests();
    unsigned failed = CU_get_number_of_failures();
    unsigned ran = CU_get_number_of_tests_run();
    CU_cleanup_registry();
    return code != CUE_SUCCESS || failed != 0 || ran != count;
}

static uint64_t from_environment(const char *name, uint64_t fallback)
{
    const char *text = getenv(name);
    return text && *text ? strtoull(text, NULL, 10) : fallback;
}

uint64_t suite_seed(uint64_t fallback)
{
    uint64_t seed = from_environment("TF_SEED", fallback);
    printf("\n    seed %" PRIu64 " (TF_SEED=%" PRIu64 " repeats it) ", seed, seed);
    return seed;
}

size_t suite_rounds(size_t count)
{
    return count * (size_t)from_environment("TF_ROUNDS", 1);
}

size_t suite_stride(size_t n)
{
#ifdef __SANITIZE_ADDRESS__
    return getenv("TF_FULL") ? 1 : n;
#else
    (void)n;
    return 1;
#endif
}
