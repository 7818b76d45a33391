# Tcl scripts for a yosys that was built without Tcl, as the packaged one is: commands that Tcl does not know are those of yosys, and are
# written to a script of its own, commands.ys. Enough for scripts that ask yosys nothing.
#
#     tclsh yosys.tcl SCRIPT
set commands [open commands.ys w]
proc unknown {args} { puts $::commands [join $args] }
proc yosys {args} { if {$args ne "-import"} { unknown {*}$args } }
source [lindex $argv 0]
close $commands
