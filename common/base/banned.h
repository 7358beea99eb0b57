/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_BASE_BANNED_H
#define TF_BASE_BANNED_H

/* Included before every source file of the project by a compiler flag: a call that is easily unsafe, or that
 * has a better form in common/base, does not compile. The system headers come first, so that their own
 * declarations are not touched. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TF_BANNED(fn) tidefed_does_not_use_##fn

/* unbounded, or silently truncating: use tf_buf, or snprintf with a checked result */
#define strcpy(d, s) TF_BANNED(strcpy)
#define strcat(d, s) TF_BANNED(strcat)
#define strncpy(d, s, n) TF_BANNED(strncpy)
#define strncat(d, s, n) TF_BANNED(strncat)
#define sprintf(...) TF_BANNED(sprintf)
#define vsprintf(d, f, a) TF_BANNED(vsprintf)
/* hidden static state: use the _r forms */
#define strtok(s, d) TF_BANNED(strtok)
#define gmtime(t) TF_BANNED(gmtime)
#define localtime(t) TF_BANNED(localtime)
#define ctime(t) TF_BANNED(ctime)
#define asctime(t) TF_BANNED(asctime)
#define rand() TF_BANNED(rand)
/* errors are invisible: use tf_parse_int64 and its kin */
#define atoi(s) TF_BANNED(atoi)
#define atol(s) TF_BANNED(atol)
#define atof(s) TF_BANNED(atof)
/* may return NULL: use tf_calloc and its kin */
#undef strdup
#undef strndup
#define malloc(n) TF_BANNED(malloc)
#define calloc(n, s) TF_BANNED(calloc)
#define realloc(p, n) TF_BANNED(realloc)
#define strdup(s) TF_BANNED(strdup)
#define strndup(s, n) TF_BANNED(strndup)

#endif
