/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/fedctl/exit.h"

enum fedctl_exit fedctl_exit_of(enum tf_error_code code)
{
    switch (code) {
    case TF_OK:
        return FEDCTL_DONE;
    case TF_ERR_INVALID:
        return FEDCTL_USAGE;
    case TF_ERR_NOT_FOUND:
        return FEDCTL_NOT_FOUND;
    case TF_ERR_CONFLICT:
        return FEDCTL_CONFLICT;
    case TF_ERR_TIMEOUT:
        return FEDCTL_TIMED_OUT;
    case TF_ERR_UNAVAILABLE:
    case TF_ERR_UNKNOWN:
        return FEDCTL_UNREACHABLE;
    case TF_ERR_REFUSED:
    case TF_ERR_TOO_LARGE:
    case TF_ERR_IO:
    case TF_ERR_BUG:
        return FEDCTL_FAILED;
    }
    return FEDCTL_FAILED;
}
