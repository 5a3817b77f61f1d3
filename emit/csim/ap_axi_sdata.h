/* hls::axis and ap_axiu for C simulation: a beat of an AXI-Stream with TKEEP,
 * TSTRB and TLAST; user, id and dest all have bits, or none of them has.
 * Tested by test/csim, test/e2e/dma_check.py and network_check.py. */
#ifndef AP_AXI_SDATA_H
#define AP_AXI_SDATA_H

#include "ap_int.h"

namespace hls {

template <class T, std::size_t USER = 0, std::size_t ID = 0, std::size_t DEST = 0>
struct axis;

template <int BITS, std::size_t USER, std::size_t ID, std::size_t DEST>
struct axis<ap_uint<BITS>, USER, ID, DEST> {
    static_assert(USER > 0 && ID > 0 && DEST > 0, "some of user, id and dest have no bits");
    static_assert(BITS > 0 && BITS % 8 == 0, "an AXI-Stream has whole bytes");

    ap_uint<BITS> data;
    ap_uint<BITS / 8> keep;
    ap_uint<BITS / 8> strb;
    ap_uint<static_cast<int>(USER)> user;
    ap_uint<1> last;
    ap_uint<static_cast<int>(ID)> id;
    ap_uint<static_cast<int>(DEST)> dest;
};

template <int BITS>
struct axis<ap_uint<BITS>, 0, 0, 0> {
    static_assert(BITS > 0 && BITS % 8 == 0, "an AXI-Stream has whole bytes");

    ap_uint<BITS> data;
    ap_uint<BITS / 8> keep;
    ap_uint<BITS / 8> strb;
    ap_uint<1> last;
};

} // namespace hls

template <std::size_t BITS, std::size_t USER, std::size_t ID, std::size_t DEST>
using ap_axiu = hls::axis<ap_uint<static_cast<int>(BITS)>, USER, ID, DEST>;

#endif
