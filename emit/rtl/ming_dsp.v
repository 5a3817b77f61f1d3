// A DSP slice: p = (a + d) * b + sum, all of them signed. Operands pass one register or two, the
// product one and the sum, if there is one, one more; each has an enable. KIND is the vendor's
// primitive that is instantiated, "DSP48E1" or "DSP48E2", or "generic" for an expression that other
// tools make their own slices of.
`default_nettype none

module ming_dsp #(
    parameter KIND = "generic",
    parameter A_WIDTH = 27,
    parameter B_WIDTH = 18,
    parameter C_WIDTH = 1,
    parameter D_WIDTH = 1,
    parameter P_WIDTH = 48,
    parameter A_REGISTERS = 1,
    parameter B_REGISTERS = 1,
    parameter PRE_ADD = 0, // 1: d is added; it passes one register, and so does a
    parameter SUM = 0      // 0: the product alone, 1: c is added, 2: pcin is
) (
    input wire clk,
    input wire ce_first, // of the first of two registers
    input wire ce_in,    // of the other one
    input wire ce_product,
    input wire ce_sum,
    input wire [A_WIDTH-1:0] a,
    input wire [B_WIDTH-1:0] b,
    input wire [C_WIDTH-1:0] c, // passes no register
    input wire [D_WIDTH-1:0] d,
    input wire [47:0] pcin, // from the pcout of the slice below
    output wire [47:0] pcout,
    output wire [P_WIDTH-1:0] p
);
    // One bit more than the ports have, so that something is repeated at any width.
    wire [48:0] wide_c = {{(49 - C_WIDTH) {c[C_WIDTH-1]}}, c};
    wire [47:0] sum;

    generate
        if (KIND == "generic") begin : generic
            localparam F_WIDTH = PRE_ADD != 0 ? (A_WIDTH > D_WIDTH ? A_WIDTH : D_WIDTH) + 1
                                              : A_WIDTH;
            localparam M_WIDTH = F_WIDTH + B_WIDTH;
            reg signed [A_WIDTH-1:0] first_a, last_a;
            reg signed [B_WIDTH-1:0] first_b, last_b;
            reg signed [D_WIDTH-1:0] last_d;
            reg [M_WIDTH-1:0] product;
            wire signed [F_WIDTH-1:0] factor;
            wire signed [M_WIDTH-1:0] multiplied = factor * last_b;
            wire [48:0] wide_product = {{(49 - M_WIDTH) {product[M_WIDTH-1]}}, product};
            always @(posedge clk) begin
                if (ce_first) begin
                    first_a <= a;
                    first_b <= b;
                end
                if (ce_in) begin
                    last_a <= A_REGISTERS == 2 ? first_a : a;
                    last_b <= B_REGISTERS == 2 ? first_b : b;
                    last_d <= d;
                end
                if (ce_product) product <= multiplied;
            end
            if (PRE_ADD != 0) begin : pre_add
                assign factor = {{(F_WIDTH - A_WIDTH) {last_a[A_WIDTH-1]}}, last_a} +
                                {{(F_WIDTH - D_WIDTH) {last_d[D_WIDTH-1]}}, last_d};
            end else begin : direct
                assign factor = last_a;
            end
            if (SUM == 0) begin : alone
                assign sum = wide_product[47:0];
            end else begin : adds
                reg [47:0] total;
                always @(posedge clk)
                    if (ce_sum) total <= wide_product[47:0] + (SUM == 2 ? pcin : wide_c[47:0]);
                assign sum = total;
            end
        end else begin : slice
            wire [30:0] wide_a = {{(31 - A_WIDTH) {a[A_WIDTH-1]}}, a};
            wire [18:0] wide_b = {{(19 - B_WIDTH) {b[B_WIDTH-1]}}, b};
            wire [27:0] wide_d = {{(28 - D_WIDTH) {d[D_WIDTH-1]}}, d};
            // X and Y are the product; Z is nothing, c or pcin.
            localparam [6:0] OPMODE = SUM == 2 ? 7'b0010101 : SUM == 1 ? 7'b0110101 : 7'b0000101;
            localparam [4:0] INMODE = PRE_ADD != 0 ? 5'b00100 : 5'b00000;
            if (KIND == "DSP48E2") begin : e2
                DSP48E2 #(
                    .ACASCREG(A_REGISTERS), .ADREG(0), .ALUMODEREG(0),
                    .AMULTSEL(PRE_ADD != 0 ? "AD" : "A"), .AREG(A_REGISTERS),
                    .BCASCREG(B_REGISTERS), .BREG(B_REGISTERS), .CARRYINREG(0),
                    .CARRYINSELREG(0), .CREG(0), .DREG(PRE_ADD != 0 ? 1 : 0), .INMODEREG(0),
                    .MREG(1), .OPMODEREG(0), .PREG(SUM != 0 ? 1 : 0), .USE_MULT("MULTIPLY")
                ) cell_ (
                    .CLK(clk), .A(wide_a[29:0]), .B(wide_b[17:0]), .C(wide_c[47:0]),
                    .D(wide_d[26:0]), .PCIN(pcin), .P(sum), .PCOUT(pcout),
                    .OPMODE({2'b00, OPMODE}), .INMODE(INMODE), .ALUMODE(4'b0000),
                    .CARRYIN(1'b0), .CARRYINSEL(3'b000), .ACIN(30'd0), .BCIN(18'd0),
                    .CARRYCASCIN(1'b0), .MULTSIGNIN(1'b0),
                    .CEA1(ce_first), .CEA2(ce_in), .CEB1(ce_first), .CEB2(ce_in), .CED(ce_in),
                    .CEAD(1'b0), .CEM(ce_product), .CEP(ce_sum), .CEC(1'b0), .CECTRL(1'b0),
                    .CEALUMODE(1'b0), .CEINMODE(1'b0), .CECARRYIN(1'b0),
                    .RSTA(1'b0), .RSTB(1'b0), .RSTC(1'b0), .RSTD(1'b0), .RSTM(1'b0), .RSTP(1'b0),
                    .RSTCTRL(1'b0), .RSTALUMODE(1'b0), .RSTINMODE(1'b0), .RSTALLCARRYIN(1'b0),
                    .ACOUT(), .BCOUT(), .CARRYCASCOUT(), .CARRYOUT(), .MULTSIGNOUT(),
                    .OVERFLOW(), .PATTERNBDETECT(), .PATTERNDETECT(), .UNDERFLOW(), .XOROUT()
                );
            end else begin : e1
                DSP48E1 #(
                    .ACASCREG(A_REGISTERS), .ADREG(0), .ALUMODEREG(0), .AREG(A_REGISTERS),
                    .BCASCREG(B_REGISTERS), .BREG(B_REGISTERS), .CARRYINREG(0),
                    .CARRYINSELREG(0), .CREG(0), .DREG(PRE_ADD != 0 ? 1 : 0), .INMODEREG(0),
                    .MREG(1), .OPMODEREG(0), .PREG(SUM != 0 ? 1 : 0),
                    .USE_DPORT(PRE_ADD != 0 ? "TRUE" : "FALSE"), .USE_MULT("MULTIPLY")
                ) cell_ (
                    .CLK(clk), .A(wide_a[29:0]), .B(wide_b[17:0]), .C(wide_c[47:0]),
                    .D(wide_d[24:0]), .PCIN(pcin), .P(sum), .PCOUT(pcout),
                    .OPMODE(OPMODE), .INMODE(INMODE), .ALUMODE(4'b0000),
                    .CARRYIN(1'b0), .CARRYINSEL(3'b000), .ACIN(30'd0), .BCIN(18'd0),
                    .CARRYCASCIN(1'b0), .MULTSIGNIN(1'b0),
                    .CEA1(ce_first), .CEA2(ce_in), .CEB1(ce_first), .CEB2(ce_in), .CED(ce_in),
                    .CEAD(1'b0), .CEM(ce_product), .CEP(ce_sum), .CEC(1'b0), .CECTRL(1'b0),
                    .CEALUMODE(1'b0), .CEINMODE(1'b0), .CECARRYIN(1'b0),
                    .RSTA(1'b0), .RSTB(1'b0), .RSTC(1'b0), .RSTD(1'b0), .RSTM(1'b0), .RSTP(1'b0),
                    .RSTCTRL(1'b0), .RSTALUMODE(1'b0), .RSTINMODE(1'b0), .RSTALLCARRYIN(1'b0),
                    .ACOUT(), .BCOUT(), .CARRYCASCOUT(), .CARRYOUT(), .MULTSIGNOUT(),
                    .OVERFLOW(), .PATTERNBDETECT(), .PATTERNDETECT(), .UNDERFLOW()
                );
            end
        end
        if (KIND == "generic") begin : cascade
            assign pcout = sum;
        end
    endgenerate

    assign p = sum[P_WIDTH-1:0];
endmodule

`default_nettype wire
