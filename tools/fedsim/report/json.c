/* SPDX-License-Identifier: Apache-2.0 */
/* Owns the JSON form: one object, names as in `metric`, parts of a name as nested objects. */
#include "tools/fedsim/report/private.h"

#include "common/base/text.h"

struct writer {
    struct tf_buf *out;
    int depth;
    bool first;      /* of the present object */
    char object[40]; /* the name before the dot of what was written last; "" none */
};

static void next(struct writer *writer)
{
    tf_buf_str(writer->out, writer->first ? "\n" : ",\n");
    for (int i = 0; i < writer->depth; i++)
        tf_buf_str(writer->out, "  ");
    writer->first = false;
}

static void open_object(struct writer *writer, const char *name)
{
    next(writer);
    tf_buf_json(writer->out, name);
    tf_buf_str(writer->out, ": {");
    writer->depth++;
    writer->first = true;
}

static void close_object(struct writer *writer)
{
    writer->depth--;
    writer->first = true;
    next(writer);
    tf_buf_char(writer->out, '}');
    writer->first = false;
}

/* Short ones stay on one line. */
static void enter(struct writer *writer, const char *name, size_t len)
{
    if (strlen(writer->object) == len && strncmp(writer->object, name, len) == 0)
        return;
    if (*writer->object)
        tf_buf_char(writer->out, '}');
    snprintf(writer->object, sizeof writer->object, "%.*s", (int)len, name);
    if (!len)
        return;
    next(writer);
    tf_buf_json(writer->out, writer->object);
    tf_buf_str(writer->out, ": {");
}

static void row(void *arg, const char *name, int64_t millionths)
{
    struct writer *writer = arg;
    const char *dot = strchr(name, '.');
    bool more = dot && strncmp(writer->object, name, (size_t)(dot - name)) == 0;
    enter(writer, name, dot ? (size_t)(dot - name) : 0);
    if (!dot)
        next(writer);
    else if (more)
        tf_buf_str(writer->out, ", ");
    tf_buf_json(writer->out, dot ? dot + 1 : name);
    tf_buf_str(writer->out, ": ");
    report_number(writer->out, millionths);
}

static void group(struct writer *writer, struct report *report, struct report_group *of,
                  enum report_where where)
{
    report_each_figure(report, of, where, row, writer);
    enter(writer, "", 0);
}

static void groups(struct writer *writer, struct report *report, const char *name, struct report_group *list,
                   enum report_where where)
{
    open_object(writer, name);
    for (struct report_group *of = list; of; of = of->hh.next) {
        open_object(writer, of->name);
        group(writer, report, of, where);
        close_object(writer);
    }
    close_object(writer);
}

static void text(struct writer *writer, const char *name, const char *value)
{
    next(writer);
    tf_buf_json(writer->out, name);
    tf_buf_str(writer->out, ": ");
    if (value)
        tf_buf_json(writer->out, value);
    else
        tf_buf_str(writer->out, "null");
}

void report_json(struct report *report, const struct report_frame *frame, struct tf_buf *out)
{
    struct writer writer = {.out = out, .depth = 1, .first = true};
    tf_buf_char(out, '{');
    text(&writer, "scenario", frame->scenario);
    text(&writer, "policy", frame->policy ? frame->policy : "tidefed");
    next(&writer);
    tf_buf_fmt(out, "\"seed\": %llu", (unsigned long long)frame->seed);
    next(&writer);
    tf_buf_str(out, "\"wallSeconds\": ");
    report_number(out, frame->wall_ms * 1000);
    next(&writer);
    tf_buf_fmt(out, "\"peakMemoryKib\": %lld", (long long)frame->peak_kib);
    text(&writer, "firstViolation", frame->breach);
    group(&writer, report, &report->all, REPORT_OF_ALL);
    groups(&writer, report, "classes", report->classes, REPORT_OF_CLASS);
    groups(&writer, report, "tenants", report->tenants, REPORT_OF_TENANT);
    groups(&writer, report, "clusters", report->clusters, REPORT_OF_CLUSTER);
    tf_buf_str(out, "\n}\n");
}
