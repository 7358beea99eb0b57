/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TF_CONF_TREE_H
#define TF_CONF_TREE_H

#include "common/conf/conf.h"

/* Private to common/conf: a parsed document. */

enum node_kind { NODE_SCALAR, NODE_MAPPING, NODE_SEQUENCE };

struct node {
    enum node_kind kind;
    bool plain;                 /* of scalars: not quoted */
    int line, column;           /* from 1 */
    const char *text;           /* of scalars */
    const struct node *key;     /* of the values of a mapping: the scalar before the colon */
    const struct node *earlier; /* of the values of a mapping: one with the same key */
    struct node *first, *last, *next;
    size_t count; /* children */
};

struct tf_conf_doc {
    struct node *root; /* never NULL */
};

/* The child of that key, or NULL. key need not end with NUL. */
const struct node *node_child(const struct node *mapping, const char *key, size_t len);
/* Nothing was written, or the word null: no value. */
bool node_is_null(const struct node *node);
const char *node_kind_text(const struct node *node);

#endif
