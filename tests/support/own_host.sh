# SPDX-License-Identifier: Apache-2.0
# Sourced: $own_host is a loopback address of this test alone, made of the pid of its shell: while a killed server is away,
# no other test and no outgoing connection can take its port. For tests in C: loopback.h.
own_host=127.$((64 + ($$ >> 16))).$(($$ >> 8 & 255)).$(($$ & 255))
