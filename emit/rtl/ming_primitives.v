// What the library instantiates of Xilinx's primitives, for simulation: the ports, and what they do
// with the parameters that the library gives. Tools for synthesis have cells of their own.
`ifndef SYNTHESIS
`default_nettype none
/* verilator lint_off WIDTH */

// A slice of either kind: the pre-adder of A_BITS, the multiplier, and the sum of X, Y and Z. A mode
// that the library has no use for gives unknown bits.
module ming_dsp_model #(
    parameter A_BITS = 27,
    parameter AREG = 1,
    parameter BREG = 1,
    parameter CREG = 1,
    parameter DREG = 1,
    parameter MREG = 1,
    parameter PREG = 1,
    parameter IS_KNOWN = 1
) (
    input wire CLK,
    input wire [29:0] A,
    input wire [17:0] B,
    input wire [47:0] C,
    input wire [A_BITS-1:0] D,
    input wire [47:0] PCIN,
    input wire [6:0] OPMODE,
    input wire [4:0] INMODE,
    input wire CEA1, CEA2, CEB1, CEB2, CEC, CED, CEM, CEP,
    output wire [47:0] P
);
    reg [29:0] a1, a2;
    reg [17:0] b1, b2;
    reg [47:0] c1, p1;
    reg [A_BITS-1:0] d1;
    reg signed [44:0] m1;

    wire signed [A_BITS-1:0] a_last = AREG == 0 ? A[A_BITS-1:0] : a2[A_BITS-1:0];
    wire signed [17:0] b_last = BREG == 0 ? B : b2;
    wire signed [A_BITS-1:0] d_last = DREG == 0 ? D : d1;
    wire signed [A_BITS-1:0] factor = INMODE[2] ? a_last + d_last : a_last;
    wire signed [44:0] multiplied = factor * b_last;
    wire signed [47:0] product = MREG == 0 ? multiplied : m1;
    wire is_known = IS_KNOWN && OPMODE[3:0] == 4'b0101 && (INMODE | 5'b00100) == 5'b00100;
    reg [47:0] sum;

    always @*
        case (OPMODE[6:4])
            3'b000: sum = product;
            3'b001: sum = product + PCIN;
            3'b011: sum = product + (CREG == 0 ? C : c1);
            default: sum = 48'bx;
        endcase

    always @(posedge CLK) begin
        if (CEA1) a1 <= A;
        if (CEA2) a2 <= AREG == 2 ? a1 : A;
        if (CEB1) b1 <= B;
        if (CEB2) b2 <= BREG == 2 ? b1 : B;
        if (CEC) c1 <= C;
        if (CED) d1 <= D;
        if (CEM) m1 <= multiplied;
        if (CEP) p1 <= sum;
    end

    assign P = !is_known ? 48'bx : PREG == 0 ? sum : p1;
endmodule

module DSP48E2 #(
    parameter ACASCREG = 1,
    parameter ADREG = 1,
    parameter ALUMODEREG = 1,
    parameter AMULTSEL = "A",
    parameter AREG = 1,
    parameter BCASCREG = 1,
    parameter BREG = 1,
    parameter CARRYINREG = 1,
    parameter CARRYINSELREG = 1,
    parameter CREG = 1,
    parameter DREG = 1,
    parameter INMODEREG = 1,
    parameter MREG = 1,
    parameter OPMODEREG = 1,
    parameter PREG = 1,
    parameter USE_MULT = "MULTIPLY"
) (
    input wire CLK,
    input wire [29:0] A,
    input wire [29:0] ACIN,
    input wire [17:0] B,
    input wire [17:0] BCIN,
    input wire [47:0] C,
    input wire [26:0] D,
    input wire [47:0] PCIN,
    input wire [8:0] OPMODE,
    input wire [4:0] INMODE,
    input wire [3:0] ALUMODE,
    input wire [2:0] CARRYINSEL,
    input wire CARRYIN, CARRYCASCIN, MULTSIGNIN,
    input wire CEA1, CEA2, CEAD, CEALUMODE, CEB1, CEB2, CEC, CECARRYIN, CECTRL, CED, CEINMODE, CEM,
    input wire CEP,
    input wire RSTA, RSTALLCARRYIN, RSTALUMODE, RSTB, RSTC, RSTCTRL, RSTD, RSTINMODE, RSTM, RSTP,
    output wire [29:0] ACOUT,
    output wire [17:0] BCOUT,
    output wire CARRYCASCOUT,
    output wire [3:0] CARRYOUT,
    output wire MULTSIGNOUT, OVERFLOW, PATTERNBDETECT, PATTERNDETECT, UNDERFLOW,
    output wire [47:0] P,
    output wire [47:0] PCOUT,
    output wire [7:0] XOROUT
);
    wire is_reset = RSTA | RSTALLCARRYIN | RSTALUMODE | RSTB | RSTC | RSTCTRL | RSTD | RSTINMODE |
                    RSTM | RSTP;
    wire is_plain = OPMODE[8:7] == 2'b00 && ALUMODE == 4'b0000 && CARRYINSEL == 3'b000 &&
                    !CARRYIN && !is_reset;
    wire [47:0] result;
    ming_dsp_model #(
        .A_BITS(27), .AREG(AREG), .BREG(BREG), .CREG(CREG), .DREG(DREG), .MREG(MREG), .PREG(PREG),
        .IS_KNOWN(ADREG == 0 && ALUMODEREG == 0 && CARRYINREG == 0 && CARRYINSELREG == 0 &&
                  INMODEREG == 0 && OPMODEREG == 0 && USE_MULT == "MULTIPLY")
    ) model (
        .CLK(CLK), .A(A), .B(B), .C(C), .D(D), .PCIN(PCIN), .OPMODE(OPMODE[6:0]),
        // Only AMULTSEL "AD" multiplies what the pre-adder gives.
        .INMODE(AMULTSEL == "AD" ? INMODE : 5'b00000), .CEA1(CEA1), .CEA2(CEA2), .CEB1(CEB1),
        .CEB2(CEB2), .CEC(CEC), .CED(CED), .CEM(CEM), .CEP(CEP), .P(result)
    );
    assign P = is_plain ? result : 48'bx;
    assign PCOUT = P;
    assign {ACOUT, BCOUT, CARRYCASCOUT, CARRYOUT, MULTSIGNOUT, OVERFLOW, PATTERNBDETECT,
            PATTERNDETECT, UNDERFLOW, XOROUT} = 66'bx;
endmodule

module DSP48E1 #(
    parameter ACASCREG = 1,
    parameter ADREG = 1,
    parameter ALUMODEREG = 1,
    parameter AREG = 1,
    parameter BCASCREG = 1,
    parameter BREG = 1,
    parameter CARRYINREG = 1,
    parameter CARRYINSELREG = 1,
    parameter CREG = 1,
    parameter DREG = 1,
    parameter INMODEREG = 1,
    parameter MREG = 1,
    parameter OPMODEREG = 1,
    parameter PREG = 1,
    parameter USE_DPORT = "FALSE",
    parameter USE_MULT = "MULTIPLY"
) (
    input wire CLK,
    input wire [29:0] A,
    input wire [29:0] ACIN,
    input wire [17:0] B,
    input wire [17:0] BCIN,
    input wire [47:0] C,
    input wire [24:0] D,
    input wire [47:0] PCIN,
    input wire [6:0] OPMODE,
    input wire [4:0] INMODE,
    input wire [3:0] ALUMODE,
    input wire [2:0] CARRYINSEL,
    input wire CARRYIN, CARRYCASCIN, MULTSIGNIN,
    input wire CEA1, CEA2, CEAD, CEALUMODE, CEB1, CEB2, CEC, CECARRYIN, CECTRL, CED, CEINMODE, CEM,
    input wire CEP,
    input wire RSTA, RSTALLCARRYIN, RSTALUMODE, RSTB, RSTC, RSTCTRL, RSTD, RSTINMODE, RSTM, RSTP,
    output wire [29:0] ACOUT,
    output wire [17:0] BCOUT,
    output wire CARRYCASCOUT,
    output wire [3:0] CARRYOUT,
    output wire MULTSIGNOUT, OVERFLOW, PATTERNBDETECT, PATTERNDETECT, UNDERFLOW,
    output wire [47:0] P,
    output wire [47:0] PCOUT
);
    wire is_reset = RSTA | RSTALLCARRYIN | RSTALUMODE | RSTB | RSTC | RSTCTRL | RSTD | RSTINMODE |
                    RSTM | RSTP;
    wire is_plain = ALUMODE == 4'b0000 && CARRYINSEL == 3'b000 && !CARRYIN && !is_reset;
    wire [47:0] result;
    ming_dsp_model #(
        .A_BITS(25), .AREG(AREG), .BREG(BREG), .CREG(CREG), .DREG(DREG), .MREG(MREG), .PREG(PREG),
        .IS_KNOWN(ADREG == 0 && ALUMODEREG == 0 && CARRYINREG == 0 && CARRYINSELREG == 0 &&
                  INMODEREG == 0 && OPMODEREG == 0 && USE_MULT == "MULTIPLY")
    ) model (
        .CLK(CLK), .A(A), .B(B), .C(C), .D(D), .PCIN(PCIN), .OPMODE(OPMODE),
        .INMODE(USE_DPORT == "TRUE" ? INMODE : 5'b00000), .CEA1(CEA1), .CEA2(CEA2), .CEB1(CEB1),
        .CEB2(CEB2), .CEC(CEC), .CED(CED), .CEM(CEM), .CEP(CEP), .P(result)
    );
    assign P = is_plain ? result : 48'bx;
    assign PCOUT = P;
    assign {ACOUT, BCOUT, CARRYCASCOUT, CARRYOUT, MULTSIGNOUT, OVERFLOW, PATTERNBDETECT,
            PATTERNDETECT, UNDERFLOW} = 58'bx;
endmodule

module SRL16E (
    input wire CLK, CE, D, A0, A1, A2, A3,
    output wire Q
);
    reg [15:0] places;
    always @(posedge CLK)
        if (CE) places <= {places[14:0], D};
    assign Q = places[{A3, A2, A1, A0}];
endmodule

module SRLC32E (
    input wire CLK, CE, D,
    input wire [4:0] A,
    output wire Q, Q31
);
    reg [31:0] places;
    always @(posedge CLK)
        if (CE) places <= {places[30:0], D};
    assign Q = places[A];
    assign Q31 = places[31];
endmodule

/* verilator lint_on WIDTH */
`default_nettype wire
`endif
