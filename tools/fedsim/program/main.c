/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/fedsim/program/fedsim.h"

int main(int argc, char **argv)
{
    return fedsim_main(argc, argv);
}
