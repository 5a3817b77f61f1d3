// FIFOs of WIDTH bits and DEPTH words, as `ming sim` has them: a word can be read from the cycle
// behind its write on, a place is free from the cycle behind the read on. With a LATENCY of n these
// are n cycles, and words go through n - 1 registers on their way, so that they may come from another
// die. The word in front is at dout while empty_n is 1. `write` may only be 1 where full_n
// is and there is no reset, `read` only where empty_n is; both come from registers.
`default_nettype none

// Counts words for both ends: what the reader may take and what places the writer has. Without
// delay they are the same words. is_single: there is one word for the reader.
module ming_fifo_control #(
    parameter DEPTH = 2,
    parameter LATENCY = 1
) (
    input wire clk,
    input wire rst,
    input wire write,
    output reg full_n,
    input wire read,
    output reg empty_n,
    output wire is_single
);
    localparam BITS = $clog2(DEPTH + 1);
    localparam integer PLACES = DEPTH, LESS = DEPTH - 1;
    localparam [BITS-1:0] NONE = 0, FULL = PLACES[BITS-1:0], LAST = LESS[BITS-1:0], ONE = NONE + 1'b1;

    reg [BITS-1:0] words;
    assign is_single = words == ONE;

    generate
        if (LATENCY == 1) begin : direct
            always @(posedge clk)
                if (rst) begin
                    words <= NONE;
                    empty_n <= 1'b0;
                    full_n <= 1'b1;
                end else if (write != read) begin
                    words <= words + (write ? ONE : ~NONE);
                    empty_n <= write || !is_single;
                    full_n <= read || words != LAST;
                end
        end else begin : delayed
            reg [LATENCY-2:0] writes, reads;
            reg [BITS-1:0] used;
            wire arrived = writes[LATENCY-2], freed = reads[LATENCY-2];
            wire [BITS-1:0] words_next = words + (arrived ? ONE : NONE) - (read ? ONE : NONE);
            wire [BITS-1:0] used_next = used + (write ? ONE : NONE) - (freed ? ONE : NONE);
            integer i;
            always @(posedge clk) begin
                for (i = 0; i < LATENCY - 1; i = i + 1) begin
                    writes[i] <= !rst && (i == 0 ? write : writes[i > 0 ? i - 1 : 0]);
                    reads[i] <= !rst && (i == 0 ? read : reads[i > 0 ? i - 1 : 0]);
                end
                words <= rst ? NONE : words_next;
                used <= rst ? NONE : used_next;
                empty_n <= !rst && words_next != NONE;
                full_n <= rst || used_next != FULL;
            end
        end
    endgenerate
endmodule

// The way from the writer to the memory. stored: the word at `data` has come.
module ming_fifo_way #(
    parameter WIDTH = 1,
    parameter LATENCY = 1
) (
    input wire clk,
    input wire rst,
    input wire [WIDTH-1:0] din,
    input wire write,
    output wire [WIDTH-1:0] data,
    output wire stored
);
    generate
        if (LATENCY == 1) begin : direct
            assign data = din;
            assign stored = write;
        end else begin : registers
            reg [WIDTH-1:0] words [0:LATENCY-2];
            reg [LATENCY-2:0] writes;
            integer i;
            always @(posedge clk)
                for (i = 0; i < LATENCY - 1; i = i + 1) begin
                    words[i] <= i == 0 ? din : words[i > 0 ? i - 1 : 0];
                    writes[i] <= !rst && (i == 0 ? write : writes[i > 0 ? i - 1 : 0]);
                end
            assign data = words[LATENCY-2];
            assign stored = writes[LATENCY-2];
        end
    endgenerate
endmodule

// A register slice of two words, or of one.
module ming_fifo_reg #(
    parameter WIDTH = 1,
    parameter DEPTH = 2
) (
    input wire clk,
    input wire rst,
    input wire [WIDTH-1:0] din,
    output wire full_n,
    input wire write,
    output wire [WIDTH-1:0] dout,
    output wire empty_n,
    input wire read
);
    localparam integer PLACES = DEPTH;
    localparam [1:0] FULL = PLACES[1:0];

    reg [WIDTH-1:0] front, behind;
    reg [1:0] words;
    reg has_place;
    wire [1:0] words_next = words + {1'b0, write} - {1'b0, read};

    always @(posedge clk)
        if (rst) begin
            words <= 2'd0;
            has_place <= 1'b1;
        end else begin
            words <= words_next;
            has_place <= words_next != FULL;
        end

    always @(posedge clk) begin
        if (write) behind <= din;
        if (read && words == 2'd2) front <= behind;
        else if (write && (read || words == 2'd0)) front <= din;
    end

    assign dout = front;
    assign empty_n = words != 2'd0;
    assign full_n = has_place;
endmodule

// Shift registers, one for each bit, of which the oldest word's place is chosen. With PRIMITIVES they
// are the vendor's, from three words on; two are registers.
module ming_fifo_srl #(
    parameter WIDTH = 1,
    parameter DEPTH = 16,
    parameter LATENCY = 1,
    parameter PRIMITIVES = 0
) (
    input wire clk,
    input wire rst,
    input wire [WIDTH-1:0] din,
    output wire full_n,
    input wire write,
    output wire [WIDTH-1:0] dout,
    output wire empty_n,
    input wire read
);
    localparam BITS = DEPTH > 1 ? $clog2(DEPTH) : 1;
    localparam [BITS-1:0] NONE = 0;

    wire [WIDTH-1:0] data;
    wire stored;

    ming_fifo_way #(.WIDTH(WIDTH), .LATENCY(LATENCY)) way (
        .clk(clk), .rst(rst), .din(din), .write(write), .data(data), .stored(stored)
    );

    ming_fifo_control #(.DEPTH(DEPTH), .LATENCY(LATENCY)) control (
        .clk(clk), .rst(rst), .write(write), .full_n(full_n), .read(read), .empty_n(empty_n),
        .is_single()
    );

    // The front's place; all ones stand for an empty FIFO, which begins again at 0.
    reg [BITS-1:0] place;
    wire [BITS-1:0] one = NONE + 1'b1;
    always @(posedge clk)
        if (rst) place <= ~NONE;
        else place <= place + (stored ? one : NONE) - (read ? one : NONE);

    // Words of thousands of bits in parts: Verilator unrolls no loop more than 1,024 times.
    localparam PART = 64;
    localparam ROWS = (DEPTH + 31) / 32;
    localparam ROW_BITS = ROWS > 1 ? $clog2(ROWS) : 1;
    wire [BITS+4:0] at = {5'd0, place};
    genvar part, i, k;
    generate
        for (part = 0; part < WIDTH; part = part + PART) begin : parts
            for (i = part; i < WIDTH && i < part + PART; i = i + 1) begin : bits
                if (PRIMITIVES == 0 || DEPTH <= 2) begin : registers
                    reg [DEPTH-1:0] row;
                    if (DEPTH > 1) begin : shifts
                        always @(posedge clk)
                            if (stored) row <= {row[DEPTH-2:0], data[i]};
                    end else begin : holds
                        always @(posedge clk)
                            if (stored) row <= data[i];
                    end
                    assign dout[i] = DEPTH > 1 ? row[place] : row[0];
                end else if (DEPTH <= 16) begin : row_of_16
                    SRL16E row (
                        .CLK(clk), .CE(stored), .D(data[i]), .A0(at[0]), .A1(at[1]), .A2(at[2]),
                        .A3(at[3]), .Q(dout[i])
                    );
                end else begin : rows_of_32
                    wire [ROWS-1:0] last, chosen;
                    for (k = 0; k < ROWS; k = k + 1) begin : rows
                        SRLC32E row (
                            .CLK(clk), .CE(stored), .D(k == 0 ? data[i] : last[k > 0 ? k - 1 : 0]),
                            .A(at[4:0]), .Q(chosen[k]), .Q31(last[k])
                        );
                    end
                    assign dout[i] = ROWS == 1 ? chosen[0] : chosen[at[ROW_BITS+4:5]];
                end
            end
        end
    endgenerate
endmodule

// LUTRAM, which is read like logic.
module ming_fifo_lutram #(
    parameter WIDTH = 1,
    parameter DEPTH = 32,
    parameter LATENCY = 1
) (
    input wire clk,
    input wire rst,
    input wire [WIDTH-1:0] din,
    output wire full_n,
    input wire write,
    output wire [WIDTH-1:0] dout,
    output wire empty_n,
    input wire read
);
    localparam BITS = DEPTH > 1 ? $clog2(DEPTH) : 1;
    localparam integer LAST_PLACE = DEPTH - 1;
    localparam [BITS-1:0] FIRST = 0, LAST = LAST_PLACE[BITS-1:0];

    wire [WIDTH-1:0] data;
    wire stored;

    ming_fifo_way #(.WIDTH(WIDTH), .LATENCY(LATENCY)) way (
        .clk(clk), .rst(rst), .din(din), .write(write), .data(data), .stored(stored)
    );

    ming_fifo_control #(.DEPTH(DEPTH), .LATENCY(LATENCY)) control (
        .clk(clk), .rst(rst), .write(write), .full_n(full_n), .read(read), .empty_n(empty_n),
        .is_single()
    );

    (* ram_style = "distributed" *) reg [WIDTH-1:0] words [0:DEPTH-1];
    reg [BITS-1:0] front, place;

    always @(posedge clk)
        if (stored) words[place] <= data;

    always @(posedge clk)
        if (rst) begin
            front <= FIRST;
            place <= FIRST;
        end else begin
            if (stored) place <= place == LAST ? FIRST : place + 1'b1;
            if (read) front <= front == LAST ? FIRST : front + 1'b1;
        end

    assign dout = words[front];
endmodule

// A memory of blocks, whose word comes a cycle after its address: the address is that of the word
// which will be in front, and a word that is only being written there passes beside the memory,
// unless it comes later anyway.
module ming_fifo_block #(
    parameter WIDTH = 1,
    parameter DEPTH = 512,
    parameter LATENCY = 1,
    parameter ULTRA = 0
) (
    input wire clk,
    input wire rst,
    input wire [WIDTH-1:0] din,
    output wire full_n,
    input wire write,
    output wire [WIDTH-1:0] dout,
    output wire empty_n,
    input wire read
);
    localparam BITS = DEPTH > 1 ? $clog2(DEPTH) : 1;
    localparam integer LAST_PLACE = DEPTH - 1;
    localparam [BITS-1:0] FIRST = 0, LAST = LAST_PLACE[BITS-1:0];

    wire is_single;

    wire [WIDTH-1:0] data;
    wire has_come;

    // The output register is the last of the way.
    ming_fifo_way #(.WIDTH(WIDTH), .LATENCY(LATENCY == 1 ? 1 : LATENCY - 1)) way (
        .clk(clk), .rst(rst), .din(din), .write(write), .data(data), .stored(has_come)
    );

    ming_fifo_control #(.DEPTH(DEPTH), .LATENCY(LATENCY)) control (
        .clk(clk), .rst(rst), .write(write), .full_n(full_n), .read(read), .empty_n(empty_n),
        .is_single(is_single)
    );

    reg [BITS-1:0] front, place;
    reg [WIDTH-1:0] stored, passed;
    reg is_passed;
    wire [BITS-1:0] behind = front == LAST ? FIRST : front + 1'b1;
    wire [BITS-1:0] front_next = read ? behind : front;

    generate
        if (ULTRA != 0) begin : ultra
            (* ram_style = "ultra" *) reg [WIDTH-1:0] words [0:DEPTH-1];
            always @(posedge clk) begin
                if (has_come) words[place] <= data;
                stored <= words[front_next];
            end
        end else begin : block
            (* ram_style = "block" *) reg [WIDTH-1:0] words [0:DEPTH-1];
            always @(posedge clk) begin
                if (has_come) words[place] <= data;
                stored <= words[front_next];
            end
        end
    endgenerate

    always @(posedge clk) begin
        passed <= din;
        is_passed <= LATENCY == 1 && write && (!empty_n || (read && is_single));
    end

    always @(posedge clk)
        if (rst) begin
            front <= FIRST;
            place <= FIRST;
        end else begin
            front <= front_next;
            if (has_come) place <= place == LAST ? FIRST : place + 1'b1;
        end

    assign dout = is_passed ? passed : stored;
endmodule

module ming_fifo_bram #(
    parameter WIDTH = 1,
    parameter DEPTH = 512,
    parameter LATENCY = 1
) (
    input wire clk,
    input wire rst,
    input wire [WIDTH-1:0] din,
    output wire full_n,
    input wire write,
    output wire [WIDTH-1:0] dout,
    output wire empty_n,
    input wire read
);
    ming_fifo_block #(.WIDTH(WIDTH), .DEPTH(DEPTH), .LATENCY(LATENCY), .ULTRA(0)) blocks (
        .clk(clk), .rst(rst), .din(din), .full_n(full_n), .write(write),
        .dout(dout), .empty_n(empty_n), .read(read)
    );
endmodule

module ming_fifo_uram #(
    parameter WIDTH = 1,
    parameter DEPTH = 4096,
    parameter LATENCY = 1
) (
    input wire clk,
    input wire rst,
    input wire [WIDTH-1:0] din,
    output wire full_n,
    input wire write,
    output wire [WIDTH-1:0] dout,
    output wire empty_n,
    input wire read
);
    ming_fifo_block #(.WIDTH(WIDTH), .DEPTH(DEPTH), .LATENCY(LATENCY), .ULTRA(1)) blocks (
        .clk(clk), .rst(rst), .din(din), .full_n(full_n), .write(write),
        .dout(dout), .empty_n(empty_n), .read(read)
    );
endmodule

`default_nettype wire
