# Stands for Vivado in tests of board/vivado.tcl: every command checks its arguments against what is
# written here of Vivado (UG835, UG994, PG021, PG082, PG201, PG247), and the design that they make is
# checked at the end. Nothing here is taken from the script.
#     tclsh vivado_stub.tcl SCRIPT TOP PART {port direction bits}...
# directions: in and out of streams, memory of what the accelerator reads itself, registers.
# MING_STUB_LACKS names what is not there: board, ip, run. Ends with "design: ..." or an error.
set script [lindex $argv 0]
set top [lindex $argv 1]
set part [lindex $argv 2]
set expected [lrange $argv 3 end]
set lacks [expr {[info exists env(MING_STUB_LACKS)] ? $env(MING_STUB_LACKS) : ""}]
set cells [dict create]
set joined [dict create]
set done {}

proc fail {args} {
    error "stub: [join $args { }]"
}

proc step {name after} {
    foreach one $after {
        if {$one ni $::done} {
            fail "$name before $one"
        }
    }
    lappend ::done $name
}

# Options with values, options without, and how many other arguments there are.
proc options {arguments valued plain count} {
    set others {}
    set found [dict create]
    for {set i 0} {$i < [llength $arguments]} {incr i} {
        set word [lindex $arguments $i]
        if {$word in $valued} {
            dict set found $word [lindex $arguments [incr i]]
        } elseif {$word in $plain} {
            dict set found $word 1
        } elseif {[string match -* $word]} {
            fail "unknown option $word of [lindex [info level -1] 0]"
        } else {
            lappend others $word
        }
    }
    if {[llength $others] != $count} {
        fail "[lindex [info level -1] 0] takes $count arguments, not $others"
    }
    dict set found others $others
    return $found
}

# kind -> properties with what they may be (a range or a list), pins and interfaces.
set words {32 64 128 256 512 1024}
set beats {8 16 32 64 128 256 512 1024}
set ips [dict create \
    xilinx.com:ip:processing_system7:5.5 {
        properties {PCW_USE_M_AXI_GP0 {0 1} PCW_USE_S_AXI_HP0 {0 1} PCW_S_AXI_HP0_DATA_WIDTH {32 64}
            PCW_EN_CLK0_PORT {0 1} PCW_EN_RST0_PORT {0 1} PCW_FPGA0_PERIPHERAL_FREQMHZ {0.1-250}}
        needs {PCW_USE_M_AXI_GP0 1 PCW_USE_S_AXI_HP0 1}
        out {FCLK_CLK0 FCLK_RESET0_N} in {M_AXI_GP0_ACLK S_AXI_HP0_ACLK}
        master M_AXI_GP0 slave S_AXI_HP0
        rule xilinx.com:bd_rule:processing_system7
        config {make_external {"FIXED_IO, DDR"} apply_board_preset {1} Master {Disable} Slave {Disable}}} \
    xilinx.com:ip:zynq_ultra_ps_e:3.5 {
        properties {PSU__USE__M_AXI_GP0 {0 1} PSU__USE__M_AXI_GP1 {0 1} PSU__USE__M_AXI_GP2 {0 1}
            PSU__USE__S_AXI_GP2 {0 1} PSU__SAXIGP2__DATA_WIDTH {32 64 128} PSU__FPGA_PL0_ENABLE {0 1}
            PSU__CRL_APB__PL0_REF_CTRL__FREQMHZ {0.1-500}}
        needs {PSU__USE__M_AXI_GP0 1 PSU__USE__M_AXI_GP1 0 PSU__USE__M_AXI_GP2 0 PSU__USE__S_AXI_GP2 1}
        out {pl_clk0 pl_resetn0} in {maxihpm0_fpd_aclk saxihp0_fpd_aclk}
        master M_AXI_HPM0_FPD slave S_AXI_HP0_FPD
        rule xilinx.com:bd_rule:zynq_ultra_ps_e config {apply_board_preset {1}}} \
    xilinx.com:ip:proc_sys_reset:5.0 {
        properties {} needs {} out {peripheral_aresetn interconnect_aresetn} in {slowest_sync_clk ext_reset_in}} \
    xilinx.com:ip:xlconstant:1.1 {
        properties {CONST_WIDTH {1-4096} CONST_VAL {0 1}} needs {CONST_WIDTH 1 CONST_VAL 1} out dout in {}} \
    xilinx.com:ip:smartconnect:1.0 {
        properties {NUM_SI {1-16} NUM_MI {1-16}} needs {} out {} in {aclk aresetn}} \
    xilinx.com:ip:axi_dma:7.1 [list properties [list c_include_sg {0 1} c_sg_include_stscntrl_strm {0 1} \
        c_sg_length_width {8-26} c_addr_width {32-64} c_include_mm2s {0 1} c_include_s2mm {0 1} \
        c_m_axi_mm2s_data_width $words c_m_axi_s2mm_data_width $words \
        c_m_axis_mm2s_tdata_width $beats c_s_axis_s2mm_tdata_width $beats] \
        needs {c_include_sg 0 c_sg_length_width 26} out {} in {s_axi_lite_aclk axi_resetn}] \
    xilinx.com:hls:$top:1.0 {properties {} needs {} out {} in {ap_clk ap_rst_n}}]

proc in_range {value allowed} {
    if {[llength $allowed] == 1 && [regexp {^([0-9.]+)-([0-9.]+)$} $allowed -> low high]} {
        return [expr {$value >= $low && $value <= $high}]
    }
    return [expr {$value in $allowed}]
}

# The commands.

proc get_board_parts {args} {
    set found [options $args {} {-quiet} 1]
    set pattern [lindex [dict get $found others] 0]
    foreach {name glob} {xilinx.com:kv260_som:part0:1.4 xck26* www.digilentinc.com:pynq-z1:part0:1.0 xc7z020*
        tul.com.tw:pynq-z2:part0:1.0 xc7z020* xilinx.com:zcu102:part0:3.4 xczu9eg* xilinx.com:zcu104:part0:1.1
        xczu7ev* xilinx.com:zcu111:part0:1.4 xczu28dr* xilinx.com:zc706:part0:1.4 xc7z045*
        avnet.com:ultra96v2:part0:1.2 xczu3eg*} {
        if {[string match $pattern $name] && $::lacks ne "board"} {
            if {![string match $glob $::part]} {
                fail "board $name does not have the part $::part"
            }
            lappend names $name
        }
    }
    return [expr {[info exists names] ? $names : ""}]
}

proc create_project {args} {
    set found [options $args {-part} {-force} 2]
    if {[dict get $found -part] ne $::part} {
        fail "part [dict get $found -part]"
    }
    step project {}
}
proc current_project {} { return object:project }
proc current_fileset {} { return object:sources_1 }
proc update_ip_catalog {} { step catalog repositories }
proc get_ipdefs {args} {
    set found [options $args {} {-all} 1]
    set pattern [lindex [dict get $found others] 0]
    if {[string match xilinx.com:hls:* $pattern] && "catalog" ni $::done} {
        return {}
    }
    return [lsearch -all -inline -glob [dict keys $::ips] $pattern]
}
proc create_bd_design {name} { step design {project catalog} }
proc create_bd_cell {args} {
    set found [options $args {-type -vlnv} {} 1]
    set name [lindex [dict get $found others] 0]
    if {[dict get $found -type] ne "ip" || ![dict exists $::ips [dict get $found -vlnv]]} {
        fail "no IP [dict get $found -vlnv]"
    }
    if {[dict exists $::cells $name] || ![regexp {^[A-Za-z][A-Za-z0-9_]*$} $name]} {
        fail "the name $name of a cell"
    }
    dict set ::cells $name [dict create kind [dict get $found -vlnv] values {}]
    step cell:$name design
}
proc get_bd_cells {name} {
    if {![dict exists $::cells $name]} {
        fail "no cell $name"
    }
    return cell:$name
}
proc ip_of {cell key} {
    return [dict get [dict get $::ips [dict get $::cells $cell kind]] $key]
}
proc apply_bd_automation {args} {
    set found [options $args {-rule -config} {} 1]
    set cell [string range [lindex [dict get $found others] 0] 5 end]
    if {[dict get $found -rule] ne [ip_of $cell rule]} {
        fail "rule [dict get $found -rule]"
    }
    foreach {key value} [dict get $found -config] {
        if {"\"$value\"" ne [dict get [ip_of $cell config] $key] && $value ne [dict get [ip_of $cell config] $key]} {
            fail "automation $key $value"
        }
    }
    step automation cell:$cell
}
proc set_property {args} {
    if {[lindex $args 0] eq "-dict"} {
        lassign $args -> properties object
    } else {
        lassign $args name value object
        set properties [list $name $value]
    }
    if {[llength $args] != 3} {
        fail "set_property $args"
    }
    foreach {name value} $properties {
        if {$object eq "object:project" && $name eq "board_part" && [regexp {^[^:]+:[^:]+:part0:[0-9.]+$} $value]} continue
        if {$object eq "object:project" && $name eq "ip_repo_paths"} {
            foreach path $value {
                if {![file isdirectory $path]} { fail "no folder $path" }
            }
            step repositories project
            continue
        }
        if {$object eq "object:sources_1" && $name eq "top" && $value eq "design_wrapper"} {
            step top wrapper
            continue
        }
        if {![string match cell:* $object] || ![string match CONFIG.* $name]} {
            fail "property $name of $object"
        }
        set cell [string range $object 5 end]
        set name [string range $name 7 end]
        if {![dict exists [ip_of $cell properties] $name] || ![in_range $value [dict get [ip_of $cell properties] $name]]} {
            fail "$cell has no $name of $value"
        }
        dict set ::cells $cell values $name $value
    }
}
proc value_of {cell name} { return [dict get $::cells $cell values $name] }

# Pins of a cell, which depend on its properties.
proc pins {cell way} {
    set pins [ip_of $cell $way]
    if {[dict get $::cells $cell kind] eq "xilinx.com:ip:axi_dma:7.1" && $way eq "in"} {
        foreach one {mm2s s2mm} {
            if {[value_of $cell c_include_$one]} { lappend pins m_axi_${one}_aclk }
        }
    }
    if {$cell eq "accel" && $way eq "in" && [lsearch $::expected "* registers *"] < 0} {
        foreach pin {ap_start ap_continue} {
            if {[string first $pin $::start_pins] >= 0} { lappend pins $pin }
        }
    }
    return $pins
}
# Interfaces: name -> "drives" or "takes", and what goes over it.
proc interfaces {cell} {
    set kind [dict get $::cells $cell kind]
    switch -glob $kind {
        *processing_system7* - *zynq_ultra* { return [list [ip_of $cell master] {drives mm} [ip_of $cell slave] {takes mm}] }
        *smartconnect* {
            for {set i 0} {$i < [value_of $cell NUM_SI]} {incr i} { lappend all [format S%02d_AXI $i] {takes mm} }
            for {set i 0} {$i < [value_of $cell NUM_MI]} {incr i} { lappend all [format M%02d_AXI $i] {drives mm} }
            return $all
        }
        *axi_dma* {
            set all {S_AXI_LITE {takes mm}}
            if {[value_of $cell c_include_mm2s]} {
                lappend all M_AXI_MM2S {drives mm} M_AXIS_MM2S [list drives [value_of $cell c_m_axis_mm2s_tdata_width]]
                if {[value_of $cell c_m_axi_mm2s_data_width] < [value_of $cell c_m_axis_mm2s_tdata_width]} { fail "$cell: memory narrower than its stream" }
            }
            if {[value_of $cell c_include_s2mm]} {
                lappend all M_AXI_S2MM {drives mm} S_AXIS_S2MM [list takes [value_of $cell c_s_axis_s2mm_tdata_width]]
                if {[value_of $cell c_m_axi_s2mm_data_width] < [value_of $cell c_s_axis_s2mm_tdata_width]} { fail "$cell: memory narrower than its stream" }
            }
            return $all
        }
        *:hls:* {
            foreach port $::expected {
                set kind [dict get {in stream out stream memory drives registers takes} [lindex $port 1]]
                if {$kind ne "stream"} {
                    lappend all [lindex $port 0] [list $kind mm]
                    continue
                }
                lappend all [lindex $port 0] [list [expr {[lindex $port 1] eq "in" ? "takes" : "drives"}] [lindex $port 2]]
            }
            return $all
        }
    }
    return {}
}
proc get_bd_pins {path} {
    lassign [split $path /] cell pin
    if {$pin ni [concat [pins $cell in] [pins $cell out]]} { fail "no pin $path" }
    return $path
}
proc get_bd_intf_pins {path} {
    lassign [split $path /] cell pin
    if {![dict exists [interfaces $cell] $pin]} { fail "no interface $path" }
    return $path
}
proc connect_bd_net {from to} {
    lassign [split $from /] cell pin
    lassign [split $to /] other input
    if {$pin ni [pins $cell out] || $input ni [pins $other in] || [dict exists $::joined $to]} { fail "net $from $to" }
    dict set ::joined $to $from
}
proc connect_bd_intf_net {from to} {
    lassign [split $from /] cell pin
    lassign [split $to /] other input
    set a [dict get [interfaces $cell] $pin]
    set b [dict get [interfaces $other] $input]
    if {[lindex $a 0] ne "drives" || [lindex $b 0] ne "takes" || [lindex $a 1] ne [lindex $b 1]} { fail "interfaces $from ($a) and $to ($b)" }
    foreach end [list $from $to] {
        if {[dict exists $::joined $end]} { fail "$end is connected twice" }
    }
    dict set ::joined $from $to
    dict set ::joined $to $from
}
proc assign_bd_address {} { step address automation }
proc validate_bd_design {} {
    step validated address
    dict for {cell info} $::cells {
        foreach pin [pins $cell in] {
            if {![dict exists $::joined $cell/$pin]} { fail "$cell/$pin is open" }
            set source [dict get $::joined $cell/$pin]
            set clocks {FCLK_CLK0 pl_clk0}
            if {[regexp {a?clk$|ACLK$|_sync_clk$} $pin] && [lindex [split $source /] 1] ni $clocks} { fail "$cell/$pin is no clock" }
            if {[regexp {resetn$|rst_n$} $pin] && [lindex [split $source /] 1] ne "peripheral_aresetn"} { fail "$cell/$pin is no reset" }
        }
        foreach {pin -} [interfaces $cell] {
            if {![dict exists $::joined $cell/$pin]} { fail "$cell/$pin is open" }
        }
        dict for {name value} [ip_of $cell needs] {
            if {[value_of $cell $name] != $value} { fail "$cell: $name is [value_of $cell $name]" }
        }
    }
}
proc save_bd_design {} { step saved validated }
proc get_files {name} { if {$name ne "design.bd"} { fail "no file $name" }; return $name }
proc make_wrapper {args} { options $args {-files} {-top} 0; step wrapper saved }
proc add_files {args} {
    set found [options $args {} {-norecurse} 1]
    if {![string match */vivado/vivado.gen/sources_1/bd/design/hdl/design_wrapper.v [lindex [dict get $found others] 0]]} { fail "add_files $args" }
    step added wrapper
}
proc update_compile_order {args} { options $args {-fileset} {} 0 }
proc launch_runs {args} {
    set found [options $args {-to_step -jobs} {} 1]
    if {[dict get $found others] ne "impl_1" || [dict get $found -to_step] ne "write_bitstream"} { fail "launch_runs $args" }
    step launched {top added}
}
proc wait_on_run {name} {
    step waited launched
    set made [file join $::folder vivado]
    foreach name {vivado.runs/impl_1/design_wrapper.bit vivado.gen/sources_1/bd/design/hw_handoff/design.hwh} {
        file mkdir [file dirname [file join $made $name]]
        close [open [file join $made $name] w]
    }
}
proc get_runs {name} { if {$name ne "impl_1"} { fail "no run $name" }; return run }
proc get_property {name object} {
    if {$object ne "run"} { fail "get_property $name $object" }
    switch $name {
        PROGRESS { return [expr {$::lacks eq "run" ? "80%" : "100%"}] }
        STATUS { return "place_design ERROR" }
        STATS.WNS { return 0.1 }
    }
    fail "no property $name"
}

if {[catch {source $script} message]} {
    puts stderr $message
    exit 1
}
puts "design: [lsort [dict keys $cells]]; [value_of ps [lindex {PCW_FPGA0_PERIPHERAL_FREQMHZ PSU__CRL_APB__PL0_REF_CTRL__FREQMHZ} [string match *ultra* [dict get $cells ps kind]]]] MHz"
