/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the figures that expectations may be about, as of now. */
#include "tools/fedsim/play/private.h"

int play_metric(const struct play *play, const char *name, int64_t *millionths)
{
    return report_figure(play->result->report, name, millionths);
}
