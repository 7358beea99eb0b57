/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_TESTS_FEDSIM_PLAYED_H
#define TF_TESTS_FEDSIM_PLAYED_H

#include "tools/fedsim/play/play.h"

/* Scenarios that a test has in a string, played to their end, and their figures. What is wrong with the text
 * or does not hold ends the test that called. */

/* *result is filled anew: release it with play_result_release. */
void test_play(const char *text, const struct play_options *options, struct play_result *result);
double test_figure(const struct play_result *result, const char *name);
/* Within `off` of `want`: messages and stores take some milliseconds, the first election a second. */
void test_expect_figure(const struct play_result *result, const char *name, double want, double off);

#endif
