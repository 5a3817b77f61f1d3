# The bitstream of a board with a processing system: make bitstream, which runs
#     vivado -mode batch -source board/vivado.tcl
# in the project's folder, behind synth and export. The accelerator is started for good (ap_start is
# tied high, or where it has registers, they say so); each of its streams has an AXI DMA, which PYNQ's
# driver.py controls. What it reads of memory itself goes the same way as what DMAs move.
#
#   memory ─ PS ─ SmartConnect ─┬ AXI DMA ═ accelerator
#                               └ accelerator
#
# What is particular to the design is in design.tcl; this file is the same for all.
set folder [file dirname [file normalize [info script]]]
source [file join $folder design.tcl]

# Names of the processing systems' pins and of the properties that set them up.
if {$family eq "zynq"} {
    set ps_type xilinx.com:ip:processing_system7:5.5
    set ps_rule xilinx.com:bd_rule:processing_system7
    set ps_config {make_external "FIXED_IO, DDR" apply_board_preset "1" Master "Disable" Slave "Disable"}
    set ps_clock FCLK_CLK0
    set ps_reset FCLK_RESET0_N
    set ps_master M_AXI_GP0
    set ps_slave S_AXI_HP0
    set ps_clocked {M_AXI_GP0_ACLK S_AXI_HP0_ACLK}
    set address_bits 32
    set ps_properties [list CONFIG.PCW_USE_M_AXI_GP0 1 CONFIG.PCW_USE_S_AXI_HP0 1 \
        CONFIG.PCW_S_AXI_HP0_DATA_WIDTH 64 CONFIG.PCW_EN_CLK0_PORT 1 CONFIG.PCW_EN_RST0_PORT 1 \
        CONFIG.PCW_FPGA0_PERIPHERAL_FREQMHZ $clock_mhz]
} else {
    set ps_type xilinx.com:ip:zynq_ultra_ps_e:3.5
    set ps_rule xilinx.com:bd_rule:zynq_ultra_ps_e
    set ps_config {apply_board_preset "1"}
    set ps_clock pl_clk0
    set ps_reset pl_resetn0
    set ps_master M_AXI_HPM0_FPD
    set ps_slave S_AXI_HP0_FPD
    set ps_clocked {maxihpm0_fpd_aclk saxihp0_fpd_aclk}
    set address_bits 40
    set ps_properties [list CONFIG.PSU__USE__M_AXI_GP0 1 CONFIG.PSU__USE__M_AXI_GP1 0 \
        CONFIG.PSU__USE__M_AXI_GP2 0 CONFIG.PSU__USE__S_AXI_GP2 1 CONFIG.PSU__SAXIGP2__DATA_WIDTH 128 \
        CONFIG.PSU__FPGA_PL0_ENABLE 1 CONFIG.PSU__CRL_APB__PL0_REF_CTRL__FREQMHZ $clock_mhz]
}

# Where an IP's version differs from that above, the newest one is taken.
proc newest {type} {
    regsub {:[0-9.]+$} $type ":*" pattern
    set found [lsort -dictionary [get_ipdefs -all $pattern]]
    if {[llength $found] == 0} {
        error "Vivado has no IP $pattern"
    }
    return [lindex $found end]
}

proc connect_clock {args} {
    foreach pin $args {
        connect_bd_net [get_bd_pins ps/$::ps_clock] [get_bd_pins $pin]
    }
}

proc connect_reset {args} {
    foreach pin $args {
        connect_bd_net [get_bd_pins reset/peripheral_aresetn] [get_bd_pins $pin]
    }
}

set board [lindex [lsort -dictionary [get_board_parts -quiet $board_pattern]] end]
if {$board eq ""} {
    error "the board files of $board_pattern are not installed; they set up the memory of the board"
}
create_project -force vivado [file join $folder vivado] -part $part
set_property board_part $board [current_project]
set repositories {}
foreach path [list ${top}_hls/hls/impl/ip ${top}_hls/solution1/impl/ip] {
    if {[file isdirectory $path]} {
        lappend repositories [file normalize $path]
    }
}
if {[llength $repositories] == 0} {
    error "there is no IP in ${top}_hls: make synth export"
}
set_property ip_repo_paths $repositories [current_project]
update_ip_catalog

create_bd_design design
create_bd_cell -type ip -vlnv [newest $ps_type] ps
apply_bd_automation -rule $ps_rule -config $ps_config [get_bd_cells ps]
set_property -dict $ps_properties [get_bd_cells ps]
create_bd_cell -type ip -vlnv [newest xilinx.com:ip:proc_sys_reset:5.0] reset
connect_bd_net [get_bd_pins ps/$ps_clock] [get_bd_pins reset/slowest_sync_clk]
connect_bd_net [get_bd_pins ps/$ps_reset] [get_bd_pins reset/ext_reset_in]
foreach pin $ps_clocked {
    connect_clock ps/$pin
}

create_bd_cell -type ip -vlnv [newest xilinx.com:hls:$top:1.0] accel
connect_clock accel/ap_clk
connect_reset accel/ap_rst_n
if {[llength $start_pins] > 0} {
    create_bd_cell -type ip -vlnv [newest xilinx.com:ip:xlconstant:1.1] one
    set_property -dict [list CONFIG.CONST_WIDTH 1 CONFIG.CONST_VAL 1] [get_bd_cells one]
    foreach pin $start_pins {
        connect_bd_net [get_bd_pins one/dout] [get_bd_pins accel/$pin]
    }
}

create_bd_cell -type ip -vlnv [newest xilinx.com:ip:smartconnect:1.0] control
create_bd_cell -type ip -vlnv [newest xilinx.com:ip:smartconnect:1.0] memory
set controlled [expr {[llength $ports] + $has_registers}]
set masters [expr {[llength $ports] + [llength $memories]}]
set_property -dict [list CONFIG.NUM_SI 1 CONFIG.NUM_MI $controlled] [get_bd_cells control]
set_property -dict [list CONFIG.NUM_SI $masters CONFIG.NUM_MI 1] [get_bd_cells memory]
connect_clock control/aclk memory/aclk
connect_reset control/aresetn memory/aresetn
connect_bd_intf_net [get_bd_intf_pins ps/$ps_master] [get_bd_intf_pins control/S00_AXI]
connect_bd_intf_net [get_bd_intf_pins memory/M00_AXI] [get_bd_intf_pins ps/$ps_slave]

# A DMA moves whole words of memory, at least 32 bits and at least those of the stream.
set number 0
foreach port $ports {
    lassign $port name direction bits
    set dma dma_$name
    set index [format %02d $number]
    set memory_bits [expr {$bits < 32 ? 32 : $bits}]
    create_bd_cell -type ip -vlnv [newest xilinx.com:ip:axi_dma:7.1] $dma
    set properties [list CONFIG.c_include_sg 0 CONFIG.c_sg_include_stscntrl_strm 0 \
        CONFIG.c_sg_length_width 26 CONFIG.c_addr_width $address_bits]
    if {$direction eq "in"} {
        lappend properties CONFIG.c_include_mm2s 1 CONFIG.c_include_s2mm 0 \
            CONFIG.c_m_axi_mm2s_data_width $memory_bits CONFIG.c_m_axis_mm2s_tdata_width $bits
        set way MM2S
    } else {
        lappend properties CONFIG.c_include_mm2s 0 CONFIG.c_include_s2mm 1 \
            CONFIG.c_m_axi_s2mm_data_width $memory_bits CONFIG.c_s_axis_s2mm_tdata_width $bits
        set way S2MM
    }
    set_property -dict $properties [get_bd_cells $dma]
    connect_clock $dma/s_axi_lite_aclk $dma/m_axi_[string tolower $way]_aclk
    connect_reset $dma/axi_resetn
    connect_bd_intf_net [get_bd_intf_pins control/M${index}_AXI] [get_bd_intf_pins $dma/S_AXI_LITE]
    connect_bd_intf_net [get_bd_intf_pins $dma/M_AXI_$way] [get_bd_intf_pins memory/S${index}_AXI]
    if {$direction eq "in"} {
        connect_bd_intf_net [get_bd_intf_pins $dma/M_AXIS_MM2S] [get_bd_intf_pins accel/$name]
    } else {
        connect_bd_intf_net [get_bd_intf_pins accel/$name] [get_bd_intf_pins $dma/S_AXIS_S2MM]
    }
    incr number
}
if {$has_registers} {
    connect_bd_intf_net [get_bd_intf_pins control/M[format %02d $number]_AXI] [get_bd_intf_pins accel/s_axi_control]
}
foreach name $memories {
    connect_bd_intf_net [get_bd_intf_pins accel/$name] [get_bd_intf_pins memory/S[format %02d $number]_AXI]
    incr number
}

assign_bd_address
validate_bd_design
save_bd_design
make_wrapper -files [get_files design.bd] -top
add_files -norecurse [file join $folder vivado vivado.gen sources_1 bd design hdl design_wrapper.v]
set_property top design_wrapper [current_fileset]
update_compile_order -fileset sources_1
launch_runs impl_1 -to_step write_bitstream -jobs 4
wait_on_run impl_1
if {[get_property PROGRESS [get_runs impl_1]] ne "100%"} {
    error "the implementation failed: [get_property STATUS [get_runs impl_1]]"
}
set made [file join $folder vivado]
file copy -force [file join $made vivado.runs impl_1 design_wrapper.bit] [file join $folder $top.bit]
file copy -force [file join $made vivado.gen sources_1 bd design hw_handoff design.hwh] [file join $folder $top.hwh]
set slack [get_property STATS.WNS [get_runs impl_1]]
puts "board/$top.bit and board/$top.hwh are made; worst slack $slack ns"
if {$slack < 0} {
    puts stderr "warning: the clock of $clock_mhz MHz is not met"
}
