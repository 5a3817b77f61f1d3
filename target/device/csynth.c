/* Reads csynth.xml. Elements that a version leaves out, and values such as "undef" or "?", are
 * unknown figures. An interval that is given as a range counts as its upper end. The interval of a
 * function whose loop rewinds by itself is not taken, because it is the loop's and not the
 * function's.
 * Tests: test/unit/target/device/csynth_test.c */
#include <stdlib.h>
#include <string.h>

#include "ir/asm/print/print.h"
#include "target/device/device.h"
#include "target/device/internal.h"

enum { MAX_DIGITS = 15 };
static const int64_t max_report_bytes = INT64_C(1) << 28;

static Str child_text(const XmlFile *file, const xmlNode *node, const char *name)
{
    return xml_text(file, xml_child(node, name));
}

/* The last number in the text, or -1. */
static int64_t last_number(Str text)
{
    size_t end = text.len;
    while (end > 0 && (text.data[end - 1] < '0' || text.data[end - 1] > '9')) end--;
    size_t begin = end;
    while (begin > 0 && text.data[begin - 1] >= '0' && text.data[begin - 1] <= '9') begin--;
    bool is_number = end > begin && end - begin <= MAX_DIGITS;
    return is_number ? strtoll(text.data + begin, NULL, 10) : -1;
}

static int64_t child_number(const XmlFile *file, const xmlNode *node, const char *name)
{
    return last_number(child_text(file, node, name));
}

static int64_t read_interval(const XmlFile *file, const xmlNode *performance)
{
    const xmlNode *latency = xml_child(performance, "SummaryOfOverallLatency");
    int64_t interval = child_number(file, latency, "Interval-max");
    bool rewinds = strstr(child_text(file, performance, "PipelineType").data, "rewind") ||
                   strstr(child_text(file, latency, "PipelineType").data, "rewind");
    return interval >= 0 || rewinds ? interval
                                    : child_number(file, latency, "PipelineInitiationInterval");
}

/* node: the whole report, or a module. */
static SynthFigures read_figures(const XmlFile *file, const xmlNode *node)
{
    const xmlNode *performance = xml_child(node, "PerformanceEstimates");
    const xmlNode *resources = xml_child(xml_child(node, "AreaEstimates"), "Resources");
    int64_t dsp = child_number(file, resources, "DSP");
    return (SynthFigures){
        .latency = child_number(file, xml_child(performance, "SummaryOfOverallLatency"),
                                "Worst-caseLatency"),
        .interval = read_interval(file, performance),
        .dsp = dsp >= 0 ? dsp : child_number(file, resources, "DSP48E"),
        .bram18 = child_number(file, resources, "BRAM_18K"),
        .uram = child_number(file, resources, "URAM"),
        .lut = child_number(file, resources, "LUT"),
        .ff = child_number(file, resources, "FF"),
    };
}

static void read_report(const XmlFile *file, const xmlNode *root, SynthReport *out)
{
    const xmlNode *user = xml_child(root, "UserAssignments");
    const xmlNode *performance = xml_child(root, "PerformanceEstimates");
    out->version = child_text(file, xml_child(root, "ReportVersion"), "Version");
    out->part = child_text(file, user, "Part");
    out->top = child_text(file, user, "TopModelName");
    out->target_ns = child_text(file, user, "TargetClockPeriod");
    out->estimated_ns =
        child_text(file, xml_child(performance, "SummaryOfTimingAnalysis"), "EstimatedClockPeriod");
    out->total = read_figures(file, root);
    const xmlNode *modules = xml_child(root, "ModuleInformation");
    for (const xmlNode *node = modules ? modules->children : NULL; node; node = node->next) {
        if (node->type != XML_ELEMENT_NODE || strcmp((const char *)node->name, "Module") != 0)
            continue;
        *vec_push(&out->modules) =
            (SynthModule){child_text(file, node, "Name"), read_figures(file, node)};
    }
}

bool csynth_read(Context *ctx, const char *path, SynthReport *out)
{
    XmlFile file = {ctx, path, false};
    *out = (SynthReport){.version = STR("")};
    xmlDoc *doc = xml_read(&file, "synthesis report", max_report_bytes);
    const xmlNode *root = doc ? xmlDocGetRootElement(doc) : NULL;
    bool ok = root && (xml_child(root, "PerformanceEstimates") ||
                       diag_error(ctx, xml_loc(&file, xmlGetLineNo(root)),
                                  "is not a synthesis report of Vitis HLS: <%s> has no "
                                  "<PerformanceEstimates>",
                                  (const char *)root->name));
    if (ok) read_report(&file, root, out);
    xmlFreeDoc(doc);
    return ok;
}

const SynthModule *csynth_module(const SynthReport *report, Str name)
{
    for (size_t i = 0; i < report->modules.len; i++)
        if (str_eq(report->modules.data[i].name, name)) return &report->modules.data[i];
    return NULL;
}

void csynth_free(SynthReport *report)
{
    vec_free(&report->modules);
}
