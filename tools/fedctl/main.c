/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/fedctl/fedctl.h"

int main(int argc, char **argv)
{
    return fedctl_main(argc, argv);
}
