/* SPDX-License-Identifier: Apache-2.0 */
/* Owns how the page looks. The colours of bands are those of Okabe and Ito, which colour-blind people tell
 * apart, moved a little towards or away from the page; texts are never in them. tests/scenarios/page.py
 * computes contrasts, and distances as colour-blind people see them. */
#include "tools/fedsim/report/page.h"

#include "common/base/cleanup.h"

struct colour {
    const char *name, *light, *dark;
};
static const struct colour colours[] = {
    {"page", "#ffffff", "#15181d"}, {"ink", "#1b1f26", "#e8eaed"},   {"quiet", "#59616e", "#a0a8b4"},
    {"grid", "#e4e7eb", "#2b3038"}, {"alarm", "#b3261e", "#ff8a80"}, {"c0", "#0072b2", "#2f86c4"},
    {"c1", "#e69f00", "#e69f00"},   {"c2", "#009e73", "#12a57e"},    {"c3", "#cc79a7", "#cc79a7"},
    {"c4", "#56b4e9", "#9ad7f7"},   {"c5", "#e9db00", "#f0e442"},    {"c6", "#d55e00", "#d55e00"},
    {"h0", "#edf1f5", "#1e242b"},   {"h1", "#d3e0ec", "#1f3042"},    {"h2", "#b3cde3", "#224059"},
    {"h3", "#8db7d8", "#275273"},   {"h4", "#649fcb", "#2e6690"},    {"h5", "#3d84b8", "#3a7db0"},
    {"h6", "#1d669b", "#5b9fcf"},   {"h7", "#0a4a78", "#8fc4ea"},
};

static const char *const rules[] = {
    "*{box-sizing:border-box}",
    "body{margin:0 auto;max-width:1200px;padding:40px 24px 64px;background:var(--page);color:var(--ink);",
    "font:15px/1.5 system-ui,-apple-system,\"Segoe UI\",\"Liberation Sans\",\"DejaVu Sans\",sans-serif;",
    "font-variant-numeric:tabular-nums}",
    "h1{font-size:26px;line-height:1.25;font-weight:650;letter-spacing:-.01em;margin:0;max-width:34em}",
    "h2{font-size:17px;font-weight:650;margin:0}",
    ".facts,.what,.none,footer{color:var(--quiet);margin:4px 0 0;max-width:76ch}.what{margin:0 0 18px}",
    ".policy{font-weight:600;margin:4px 0 0}.breach{color:var(--alarm);font-weight:600}",
    ".keys{display:grid;grid-template-columns:repeat(6,1fr);gap:0 24px;margin:24px 0 0;padding:16px 0;",
    "border-top:1px solid var(--grid);border-bottom:1px solid var(--grid)}",
    ".keys div{display:flex;flex-direction:column-reverse;justify-content:flex-end}.keys "
    "dt{color:var(--quiet);font-size:13px}",
    ".keys dd{margin:0;font-size:24px;line-height:1.3;font-weight:600;letter-spacing:-.01em}",
    "section{margin-top:44px}",
    ".pair{display:grid;grid-template-columns:minmax(0,1fr) 370px;gap:0 40px}",
    ".frame{padding:18px 104px 30px 56px}.frame.small{padding:20px 0 26px 44px}",
    "svg{overflow:visible}.frame>svg,svg.row{display:block;width:100%}svg.data{overflow:hidden}svg.data "
    "rect{shape-rendering:crispEdges}",
    "text{font-size:12px;fill:var(--ink)}.tick,.quiet{fill:var(--quiet)}.name{font-weight:500}",
    ".mid{text-anchor:middle}.end{text-anchor:end}",
    ".grid{stroke:var(--grid);stroke-width:1;shape-rendering:crispEdges}",
    ".top,.tide{fill:none;vector-effect:non-scaling-stroke}",
    ".top{stroke:var(--quiet);stroke-width:1}.tide{stroke:var(--ink);stroke-width:1.6;stroke-dasharray:5 3}",
    ".hit{fill:transparent}.hit:hover{fill:var(--ink);fill-opacity:.16}",
    ".median,.late{stroke:var(--ink)}.median{stroke-width:2.5}.late{stroke-width:1}",
    ".rows "
    ".row{margin-bottom:14px}.strip{display:flex;justify-content:space-between;gap:12px;font-size:13px}",
    ".strip b{font-weight:600}.strip span{color:var(--quiet);text-align:right}",
    ".many{display:grid;grid-template-columns:repeat(auto-fill,minmax(300px,1fr));gap:20px "
    "36px;margin-bottom:20px}",
    "table{border-collapse:collapse;font-size:13px;width:100%}",
    "th,td{padding:4px 0 4px 12px;text-align:right;font-weight:400;white-space:nowrap}",
    "th:first-child{text-align:left;padding-left:0}.of-causes td.words,.of-causes "
    "th:last-child{text-align:left;white-space:normal;color:var(--"
    "quiet)}",
    "thead th{color:var(--quiet);border-bottom:1px solid "
    "var(--grid);vertical-align:bottom;white-space:normal}",
    "tbody tr+tr>*{border-top:1px solid var(--grid)}",
    "th i,.heat i{display:inline-block;width:9px;height:9px;border-radius:2px;margin-right:7px}",
    ".heat{color:var(--quiet);font-size:13px;margin:0 0 8px}.heat i{width:18px;margin:0;border-radius:0}",
    ".scroll,.beside{overflow-x:auto}details{margin-top:6px}",
    "summary{color:var(--quiet);font-size:13px;cursor:pointer}details "
    ".scroll{max-height:340px;overflow:auto;margin-top:6px}",
    ".gone0{fill:none}svg.row+.strip{margin-top:12px}details:has(+*){margin-bottom:0}",
    "footer{margin-top:56px;padding-top:14px;border-top:1px solid var(--grid);font-size:13px}",
    "@media(max-width:1000px){.pair{grid-template-columns:minmax(0,1fr);gap:14px}",
    ".keys{grid-template-columns:repeat(3,1fr);gap:16px 20px}}",
    "@media(max-width:560px){body{padding:24px 16px 48px}h1{font-size:22px}.odd{display:none}",
    ".keys{grid-template-columns:repeat(2,1fr)}.keys dd{font-size:21px}",
    ".frame{padding:18px 92px 28px 46px}.many{grid-template-columns:minmax(0,1fr)}",
    "th,td{padding-left:9px}}",
    "@media print{details{display:none}.hit{display:none}}",
};

static void variables(struct tf_buf *out, bool dark)
{
    tf_buf_str(out, ":root{");
    for (size_t i = 0; i < TF_ARRAY_LEN(colours); i++)
        tf_buf_fmt(out, "--%s:%s;", colours[i].name, dark ? colours[i].dark : colours[i].light);
    tf_buf_str(out, "}");
}

static void fills(struct tf_buf *out, char kind, int count)
{
    for (int i = 0; i < count; i++)
        tf_buf_fmt(out, ".%c%d{fill:var(--%c%d)}i.%c%d{background:var(--%c%d)}", kind, i, kind, i, kind, i,
                   kind, i);
}

void page_style(struct tf_buf *out)
{
    tf_buf_str(out, "<style>\n:root{color-scheme:light dark}\n");
    variables(out, false);
    tf_buf_str(out, "\n@media(prefers-color-scheme:dark){");
    variables(out, true);
    tf_buf_str(out, "}\n");
    for (size_t i = 0; i < TF_ARRAY_LEN(rules); i++) {
        tf_buf_str(out, rules[i]);
        tf_buf_char(out, '\n');
    }
    fills(out, 'c', PAGE_COLOURS);
    fills(out, 'h', PAGE_HEATS);
    tf_buf_str(out, "\n</style>\n");
}
