/* The roofline of a network on a device (Williams et al.; FINN-R, Fig. 1): what the device can compute
 * at the precisions that the network has, what its external memory can bring, and which of the two
 * limits the network. Figures are predictions of ming's cost model; nothing is compiled.
 *
 *   driver_load_model ─▶ driver_run_front ─▶ roofline_measure ─▶ roofline_print_*
 *
 * The page of a design builds one from the design's products instead:
 *
 *   roofline_begin ─▶ roofline_add_products, port_bits, … ─▶ roofline_finish
 *
 * `ming roofline` and report/ build on it. docs/roofline.md derives the figures.
 * Tests: lit/tools/ming-roofline.test, lit/tools/ming-roofline-invalid.test */
#ifndef MING_DRIVER_ROOFLINE_ROOFLINE_H
#define MING_DRIVER_ROOFLINE_ROOFLINE_H

#include "driver/driver.h"

enum { ROOFLINE_MAX_PRECISIONS = 32 };

/* The two operands of a product. */
typedef struct Precision {
    uint32_t weight_bits, input_bits;
    bool is_float;
} Precision;

/* A multiply-accumulate operation at a precision is two operations. */
typedef struct RooflinePeak {
    Precision precision;
    int64_t macs;       /* of the network per frame; 0: a precision to compare with */
    double lut_per_mac; /* of what is made of LUTs */
    double mac_per_dsp; /* products that a slice multiplies at once */
    double gops;        /* 10^9 operations a second */
} RooflinePeak;

typedef struct Roofline {
    RooflinePeak peaks[ROOFLINE_MAX_PRECISIONS]; /* in rising order of bits, integers first */
    uint32_t peak_count;
    int64_t clock;                    /* MHz */
    int64_t lut, dsp;                 /* that compute */
    double bandwidth;                 /* GB/s of the external memory; 0: not known */
    int64_t memory_bits;              /* of block RAM and UltraRAM */
    int64_t ops;                      /* of the network per frame */
    int64_t port_bits, constant_bits; /* of its arguments and results; of its constants */
    bool fits;                        /* the constants are in memory_bits, so they stay */
    double moved_bytes;               /* per frame: ports, and constants that do not stay */
    double intensity;                 /* ops / moved_bytes */
    double compute_gops, memory_gops; /* at its mix of precisions; at its intensity, or 0 */
    double gops, fps;                 /* the lesser of both */
} Roofline;

/* Measures what driver_run_front made of a module. bandwidth: GB/s, or 0 for the device's. The LUTs
 * and DSP slices that compute are those that the options limit, else FINN-R's shares of the device.
 * False: reported, because nothing multiplies or the sums are too large. */
bool roofline_measure(const Op *module, const DeviceTarget *target, const DeviceOptions *options,
                      double bandwidth, DriverErrors errors, Roofline *out) MUST_CHECK;

/* A roofline of no products yet. What computes are FINN-R's shares of the device, the bandwidth is
 * that of its banks. */
void roofline_begin(const Device *device, int64_t clock, Roofline *out);
/* False: there are more than can be counted. */
bool roofline_add_products(Roofline *roofline, Precision precision, int64_t macs) MUST_CHECK;
/* Finds peaks and limits. NULL, or why there are none. */
const char *roofline_finish(const Device *device, Roofline *roofline) MUST_CHECK;

/* Append a table for people, a JSON object for programs, a chart. docs/roofline.md explains keys. */
void roofline_print_text(const Roofline *roofline, Str network, Str device, StrBuf *out);
void roofline_print_json(const Roofline *roofline, Str network, Str device, StrBuf *out);
void roofline_print_svg(const Roofline *roofline, Str network, Str device, StrBuf *out);
/* Appends "1 x 2 bits" or "f32". */
void roofline_add_precision(const Precision *precision, StrBuf *out);

#endif
