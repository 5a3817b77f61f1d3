/* Synthesis reports: figures where they are, unknown where they are not, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "target/device/device.h"
#include "test/unit/text_file.h"

typedef struct Fixture {
    TextFile file;
    SynthReport report;
} Fixture;

static int setup(void **state)
{
    Fixture *f = *state = xcalloc(1, sizeof(*f));
    return text_file_open(&f->file);
}

static int teardown(void **state)
{
    Fixture *f = *state;
    text_file_close(&f->file);
    csynth_free(&f->report);
    free(f);
    return 0;
}

static bool read_text(Fixture *f, const char *text)
{
    text_file_write(&f->file, text);
    csynth_free(&f->report);
    return csynth_read(f->file.ctx, f->file.path, &f->report);
}

static void reads_totals(void **state)
{
    Fixture *f = *state;
    assert_true(read_text(
        f, "<profile><ReportVersion><Version>2024.1</Version></ReportVersion><UserAssignments>"
           "<Part>p</Part><TopModelName>net</TopModelName>"
           "<TargetClockPeriod>4.00</TargetClockPeriod></UserAssignments>"
           "<PerformanceEstimates><SummaryOfTimingAnalysis><EstimatedClockPeriod>2.9"
           "</EstimatedClockPeriod></SummaryOfTimingAnalysis><SummaryOfOverallLatency>"
           "<Best-caseLatency>10</Best-caseLatency><Worst-caseLatency>12</Worst-caseLatency>"
           "<Interval-min>7</Interval-min><Interval-max>8</Interval-max>"
           "</SummaryOfOverallLatency></PerformanceEstimates><AreaEstimates><Resources>"
           "<BRAM_18K>1</BRAM_18K><DSP>2</DSP><FF>3</FF><LUT>4</LUT><URAM>0</URAM>"
           "</Resources></AreaEstimates></profile>"));
    assert_string_equal(f->report.top.data, "net");
    assert_string_equal(f->report.version.data, "2024.1");
    assert_string_equal(f->report.estimated_ns.data, "2.9");
    assert_int_equal(f->report.total.latency, 12);
    assert_int_equal(f->report.total.interval, 8);
    assert_int_equal(f->report.total.dsp, 2);
    assert_int_equal(f->report.total.bram18, 1);
    assert_int_equal(f->report.total.uram, 0);
    assert_int_equal(f->report.total.lut, 4);
    assert_int_equal(f->report.total.ff, 3);
    assert_int_equal(f->report.modules.len, 0);
}

static void reads_modules(void **state)
{
    Fixture *f = *state;
    assert_true(read_text(
        f, "<profile><PerformanceEstimates/><ModuleInformation>"
           "<Module><Name>a</Name><PerformanceEstimates><SummaryOfOverallLatency>"
           "<Worst-caseLatency>undef</Worst-caseLatency>"
           "<PipelineInitiationInterval>5 ~ 70</PipelineInitiationInterval>"
           "</SummaryOfOverallLatency></PerformanceEstimates><AreaEstimates><Resources>"
           "<DSP48E>6</DSP48E></Resources></AreaEstimates></Module>"
           "<Module><Name>b</Name><PerformanceEstimates><PipelineType>loop auto-rewind stp"
           "</PipelineType><SummaryOfOverallLatency>"
           "<PipelineInitiationInterval>1</PipelineInitiationInterval>"
           "</SummaryOfOverallLatency></PerformanceEstimates></Module>"
           "</ModuleInformation></profile>"));
    const SynthModule *a = csynth_module(&f->report, STR("a"));
    const SynthModule *b = csynth_module(&f->report, STR("b"));
    assert_int_equal(a->figures.latency, -1);
    assert_int_equal(a->figures.interval, 70);
    assert_int_equal(a->figures.dsp, 6);
    assert_int_equal(b->figures.interval, -1);
    assert_null(csynth_module(&f->report, STR("c")));
}

static void refuse(Fixture *f, const char *text, const char *why)
{
    size_t before = diag_error_count(f->file.ctx);
    assert_false(read_text(f, text));
    diag_flush(f->file.ctx);
    assert_int_equal(diag_error_count(f->file.ctx), before + 1);
    assert_non_null(strstr(f->file.message.data, why));
}

static void refuses_other_files(void **state)
{
    refuse(*state, "", "ocument is empty");
    refuse(*state, "<profile/>", "is not a synthesis report");
    refuse(*state, "<profile><PerformanceEstimates>", "");
    refuse(*state, "<!DOCTYPE p [<!ENTITY a 'b'>]><profile><PerformanceEstimates/></profile>",
           "document type");
    assert_false(csynth_read(((Fixture *)*state)->file.ctx, "/nonexistent.xml",
                             &((Fixture *)*state)->report));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(reads_totals, setup, teardown),
        cmocka_unit_test_setup_teardown(reads_modules, setup, teardown),
        cmocka_unit_test_setup_teardown(refuses_other_files, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
