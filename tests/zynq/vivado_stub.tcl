# Stands in for Vivado: runs its script with commands that note what they are asked for, and know which cells and pins there are.
#
#     SETUP HOLD PULSE PERIOD CDC METHODOLOGY     in the environment: what Vivado would find
#     WIDTHS                                      bits of s_axis and m_axis of the accelerator, from its Verilog
#
# `validate_bd_design` has the rules of Vivado that can be known without it: every bus, clock and reset of a cell is connected, once, a
# master to a slave; streams have one width; every slave with registers has an address.

# ---- pins of the cells: {buses that are masters} {slaves} {clocks} {resets} {other inputs} {outputs}
set pins {
    zynq_ultra_ps_e {{M_AXI_HPM0_FPD} {} {maxihpm0_fpd_aclk} {} {pl_ps_irq0} {pl_clk0 pl_resetn0}}
    axi_dma {{M_AXIS_MM2S M_AXI_MM2S} {S_AXI_LITE} {s_axi_lite_aclk m_axi_mm2s_aclk} {axi_resetn} {} {mm2s_introut}}
    axis_combiner {{M_AXIS} {} {aclk} {aresetn} {} {}}
    smartconnect {{} {} {aclk} {aresetn} {} {}}
    proc_sys_reset {{} {} {slowest_sync_clk} {ext_reset_in} {} {peripheral_aresetn}}
    xlconcat {{} {} {} {} {} {dout}}
    tabla_axi {{m_axis} {s_axi s_axis} {s_axi_aclk} {s_axi_aresetn} {} {run_done}}
}

set log {}
set cells [dict create]
set settings [dict create]
set wires {}
set addressed 0
proc note {args} { lappend ::log $args }
proc create_project {args} { note create_project {*}$args }
proc current_project {} { return project }
proc current_fileset {} { return sources_1 }
proc get_board_parts {args} { return {} }
proc get_files {name} {
    note get_files $name
    return $name
}
proc get_runs {name} { return $name }
proc add_files {args} {
    set name [lindex $args end]
    if {![file exists $name] && ![string match *wrapper* $name]} { error "no file $name" }
    note add_files $name
}
proc update_compile_order {args} {}
proc create_bd_design {name} { note create_bd_design $name }
proc create_bd_cell {option kind how what name} {
    dict set ::cells $name $what
    note create_bd_cell $what $name
    return $name
}
proc apply_bd_automation {args} {}
proc set_property {args} {
    note set_property {*}$args
    if {[lindex $args 0] eq "-dict"} {
        foreach {key value} [lindex $args 1] { dict set ::settings [lindex $args 2] [string tolower $key] $value }
    }
}
proc get_property {name object} {
    switch -- $name {
        PROGRESS { return "100%" }
        PERIOD { return $::env(PERIOD) }
        STATS.WNS { return $::env(SETUP) }
        STATS.WHS { return $::env(HOLD) }
        STATS.WPWS { return $::env(PULSE) }
        default { return "" }
    }
}

# ---- the block design
# The accelerator is a module of its own name.
proc kind {cell} {
    set kind [lindex [split [dict get $::cells $cell] :] end]
    return [expr {[string match *_axi $kind] ? "tabla_axi" : $kind}]
}
proc setting {cell key default} {
    set key [string tolower CONFIG.$key]
    if {[dict exists $::settings $cell $key]} { return [dict get $::settings $cell $key] }
    return $default
}
# Masters, slaves, clocks, resets, inputs, outputs of a cell; those that are counted by a setting come to the others.
proc pins_of {cell} {
    lassign [dict get $::pins [kind $cell]] masters slaves clocks resets inputs outputs
    for {set n 0} {$n < [setting $cell NUM_SI 0]} {incr n} { lappend slaves [format S%02d_AXI $n] }
    for {set n 0} {$n < [setting $cell NUM_MI 0]} {incr n} { lappend masters [format M%02d_AXI $n] }
    if {[kind $cell] eq "axis_combiner"} { set slaves [lmap slave $slaves { string cat $slave S }] }
    # UG1085: the ports S_AXI_HP0 to HP3 are slaves 2 to 5 of the processor.
    for {set n 0} {$n < 4} {incr n} {
        if {[setting $cell PSU__USE__S_AXI_GP[expr {$n + 2}] 0]} {
            lappend slaves S_AXI_HP${n}_FPD
            lappend clocks saxihp${n}_fpd_aclk
        }
    }
    if {[kind $cell] eq "axi_dma" && [setting $cell c_include_s2mm 1]} {
        lappend masters M_AXI_S2MM
        lappend slaves S_AXIS_S2MM
        lappend clocks m_axi_s2mm_aclk
        lappend outputs s2mm_introut
    }
    for {set n 0} {$n < [setting $cell NUM_PORTS 0]} {incr n} { lappend inputs In$n }
    return [list $masters $slaves $clocks $resets $inputs $outputs]
}
proc pin {name} {
    lassign [split $name /] cell port
    if {![dict exists $::cells $cell]} { error "no cell for pin $name" }
    if {$port ni [concat {*}[pins_of $cell]]} { error "[kind $cell] has no pin $port" }
    return $name
}
proc get_bd_cells {name} {
    if {![dict exists $::cells $name]} { error "no cell $name" }
    return $name
}
proc get_bd_intf_pins {name} { return [pin $name] }
proc get_bd_pins {name} { return [pin $name] }
proc get_bd_addr_spaces {name} { return $name }
proc get_bd_addr_segs {args} {
    note get_bd_addr_segs {*}$args
    return segment
}
proc connect {a b} {
    note connect $a $b
    lappend ::wires $a $b
}
proc connect_bd_intf_net {a b} { connect $a $b }
proc connect_bd_net {a b} { connect $a $b }
proc assign_bd_address {} {
    note assign_bd_address
    set ::addressed 1
}
# Bits of a stream.
proc width {pin} {
    lassign $::env(WIDTHS) input output
    set cell [lindex [split $pin /] 0]
    set part [expr {8 * [setting $cell TDATA_NUM_BYTES 0]}]
    switch -glob -- $pin {
        axi_dma_*/M_AXIS_MM2S { return [setting $cell c_m_axis_mm2s_tdata_width 0] }
        axi_dma_0/S_AXIS_S2MM { return [setting $cell c_s_axis_s2mm_tdata_width 0] }
        join/S*_AXIS { return $part }
        join/M_AXIS { return [expr {$part * [setting $cell NUM_SI 0]}] }
        *_axi_0/s_axis { return $input }
        *_axi_0/m_axis { return $output }
        default { return "" }
    }
}
proc validate_bd_design {} {
    note validate_bd_design
    dict for {cell _} $::cells {
        lassign [pins_of $cell] masters slaves clocks resets inputs
        foreach port [concat $masters $slaves $clocks $resets $inputs] {
            set count [llength [lsearch -all -exact $::wires $cell/$port]]
            if {$count != 1} { error "$cell/$port is connected $count times" }
        }
    }
    foreach {a b} $::wires {
        lassign [list [split $a /] [split $b /]] from to
        set sources [concat [lindex [pins_of [lindex $from 0]] 0] [lindex [pins_of [lindex $from 0]] 5]]
        if {[lindex $from 1] ni $sources} { error "$a drives nothing" }
        if {[lindex $to 1] in [concat [lindex [pins_of [lindex $to 0]] 0] [lindex [pins_of [lindex $to 0]] 5]]} { error "$b is driven" }
        if {[width $a] ne [width $b]} { error "$a has [width $a] bits, $b [width $b]" }
    }
    if {!$::addressed} { error "slaves without addresses" }
}
proc save_bd_design {} {}
proc make_wrapper {args} { return wrapper.v }

# ---- implementation
proc launch_runs {args} { note launch_runs {*}$args }
proc wait_on_run {name} {}
proc open_run {name} {}
foreach report {report_utilization report_timing_summary report_pulse_width report_cdc report_methodology report_power} {
    proc $report {args} [list note $report]
}
proc get_clocks {name} {
    if {$name ne "clk_pl_0"} { error "no clock $name" }
    return $name
}
proc violations {count severity arguments} {
    if {"SEVERITY == $severity" ni $arguments} { error "which violations? $arguments" }
    return [lrepeat $count violation]
}
proc get_cdc_violations {args} { return [violations $::env(CDC) Critical $args] }
proc get_methodology_violations {args} { return [violations $::env(METHODOLOGY) {"Critical Warning"} $args] }
proc set_clock_uncertainty {args} { note set_clock_uncertainty }
rename file real_file
proc file {command args} {
    if {$command eq "copy"} { return [note copy [lindex $args end]] }
    return [uplevel 1 [list real_file $command {*}$args]]
}
proc glob {args} {
    note glob {*}$args
    return system.hwh
}
set script [lindex $argv 0]
set code [catch {
    source $script
    source [real_file join [real_file dirname $script] tabla.xdc]
} message]
foreach line $log { puts $line }
if {$code} { puts "error: $message"; exit 1 }
