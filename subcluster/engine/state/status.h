/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_ENGINE_STATUS_H
#define TF_ENGINE_STATUS_H

/* How tidefed-shim tells its outcome to who started it: its exit code. Words for people are on its stderr. */
enum tf_shim_status {
    TF_SHIM_OK = 0, /* run: the record is on disk, a shim watches. end: the exit record is on disk */
    TF_SHIM_USAGE = 64,
    TF_SHIM_TROUBLE = 74, /* nothing was done: disk, processes, ports; see stderr */
    TF_SHIM_HELD = 75,    /* run: another shim has the lock */
    TF_SHIM_ENDED = 76,   /* run: an exit record exists */
    TF_SHIM_BEGAN = 77,   /* run: it began before and has no exit record: to be judged by end */
    TF_SHIM_STALE = 78,   /* the owner revision is lower than the one on disk */
    TF_SHIM_DIED = 79,    /* run: the shim died before it could say anything */
    TF_SHIM_LIVES = 80,   /* end without kill: a living shim watches, or is about to begin */
    TF_SHIM_STUCK = 81,   /* end: what is left does not die */
};

#endif
