/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the list of what is wrong with a text, and how it is shown. */
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "common/conf/conf.h"

#include <stdarg.h>

enum { PROBLEM_TEXT_MAX = 1000 };

void tf_conf_problems_release(struct tf_conf_problems *problems)
{
    tf_vec_each (p, problems) {
        free(p->path);
        free(p->text);
    }
    tf_vec_release(problems);
    problems->more = false;
}

static bool before(const struct tf_conf_problem *a, const struct tf_conf_problem *b)
{
    return a->line != b->line ? a->line < b->line : a->column < b->column;
}

void tf_conf_problems_add(struct tf_conf_problems *problems, int line, int column, const char *path,
                          const char *fmt, ...)
{
    if (problems->count == TF_CONF_PROBLEMS_MAX) {
        problems->more = true;
        return;
    }
    char text[PROBLEM_TEXT_MAX];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    tf_utf8_trim(text);
    tf_utf8_clean(text);
    struct tf_conf_problem problem = {line, column, tf_strdup(path), tf_strdup(text)};
    tf_utf8_clean(problem.path);
    tf_vec_push(problems, problem);
    for (size_t i = problems->count - 1; i > 0 && before(&problem, &problems->items[i - 1]); i--) {
        problems->items[i] = problems->items[i - 1];
        problems->items[i - 1] = problem;
    }
}

void tf_conf_problems_print(const struct tf_conf_problems *problems, const char *file, struct tf_buf *buf)
{
    tf_vec_each (p, problems) {
        tf_buf_str(buf, file);
        if (p->line)
            tf_buf_fmt(buf, ":%d:%d", p->line, p->column);
        tf_buf_fmt(buf, ": %s%s%s\n", p->path, *p->path ? ": " : "", p->text);
    }
    if (problems->more)
        tf_buf_fmt(buf, "%s: there are more problems than these %d\n", file, TF_CONF_PROBLEMS_MAX);
}

int tf_conf_problems_error(const struct tf_conf_problems *problems, const char *file, struct tf_error *err)
{
    TF_AUTO_BUF text = TF_BUF_INIT;
    tf_conf_problems_print(problems, file, &text);
    if (text.len)
        text.data[text.len - 1] = '\0';
    return tf_error_set(err, TF_ERR_INVALID, "%s", tf_buf_text(&text));
}
