//! IP-XACT: the grid behind AXI as a component that other tools take in (IEEE 1685-2014).
//!
//!     component ─┬─ bus interfaces    s_axi, s_axis, m_axis, clock, reset, interrupt: which port is what
//!                ├─ memory map        every register with offset, access and meaning; programs and tables
//!                ├─ model             ports and their ranges
//!                └─ file set          Verilog, children before parents
//!
//! Everything comes from the tables that hardware and drivers are made of.

mod xml;

use arch::Machine;
use arch::axi::{self, AxiPort, Interface};
use arch::registers::{self, Access, REGION_INSTRUCTIONS, Region};
use arch::rtl::Direction;
use xml::Xml;

/// Name of the file.
pub const COMPONENT: &str = "component.xml";

const NAMESPACE: &str = "http://www.accellera.org/XMLSchema/IPXACT/1685-2014";
const INSTANCE: &str = "http://www.w3.org/2001/XMLSchema-instance";
/// Bytes of a region of the control port.
const REGION_BYTES: u32 = 4 << 16;
const MEMORY_MAP: &str = "control";
const FILES: &str = "rtl";

/// What a component is made of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Component<'a> {
    /// Name of the project: letters, digits and `_`.
    pub name: &'a str,
    /// Vendor and library that stand before it.
    pub vendor: &'a str,
    /// See there.
    pub library: &'a str,
    /// Version.
    pub version: &'a str,
    /// Top module.
    pub top: &'a str,
    /// Verilog files relative to the component, children before parents.
    pub sources: &'a [String],
    /// The grid.
    pub machine: &'a Machine,
}

/// The text of the component; `head` is a comment.
pub fn component(component: &Component<'_>, head: &str) -> String {
    let ports = axi::ports(component.machine);
    let mut xml = Xml::new(head);
    let schema = format!("{NAMESPACE} {NAMESPACE}/index.xsd");
    let attributes = [("xmlns:ipxact", NAMESPACE), ("xmlns:xsi", INSTANCE), ("xsi:schemaLocation", &schema)];
    xml.element_with("component", &attributes, |xml| {
        xml.leaf("vendor", component.vendor);
        xml.leaf("library", component.library);
        xml.leaf("name", component.name);
        xml.leaf("version", component.version);
        xml.element("busInterfaces", |xml| {
            for interface in Interface::ALL {
                bus_interface(xml, interface, &ports);
            }
        });
        xml.element("memoryMaps", |xml| memory_map(xml, component.machine));
        xml.element("model", |xml| model(xml, component.top, &ports));
        xml.element("fileSets", |xml| file_set(xml, component.sources));
        xml.leaf("description", &format!("Grid of {} behind AXI", component.machine));
    });
    xml.into_text()
}

/// Vendor, library, name and version of the definition of a bus, and name of its abstraction.
fn definition(interface: Interface) -> ([&'static str; 4], &'static str) {
    match interface {
        Interface::Clock => (["xilinx.com", "signal", "clock", "1.0"], "clock_rtl"),
        Interface::Reset => (["xilinx.com", "signal", "reset", "1.0"], "reset_rtl"),
        Interface::Registers => (["amba.com", "AMBA4", "AXI4Lite", "r0p0_0"], "AXI4Lite_rtl"),
        Interface::Input | Interface::Output => (["amba.com", "AMBA4", "AXI4Stream", "r0p0_1"], "AXI4Stream_rtl"),
        Interface::Interrupt => (["xilinx.com", "signal", "interrupt", "1.0"], "interrupt_rtl"),
    }
}

/// What tools want to know of an interface that its ports do not say.
fn parameters(interface: Interface) -> Vec<(&'static str, String)> {
    match interface {
        Interface::Clock => {
            let buses = [Interface::Registers, Interface::Input, Interface::Output].map(Interface::name).join(":");
            vec![("ASSOCIATED_BUSIF", buses), ("ASSOCIATED_RESET", Interface::Reset.name().to_owned())]
        }
        Interface::Reset => vec![("POLARITY", "ACTIVE_LOW".to_owned())],
        Interface::Interrupt => vec![("SENSITIVITY", "LEVEL_HIGH".to_owned())],
        Interface::Registers | Interface::Input | Interface::Output => Vec::new(),
    }
}

fn bus_interface(xml: &mut Xml, interface: Interface, ports: &[AxiPort]) {
    let ([vendor, library, name, version], abstraction) = definition(interface);
    let reference =
        |name: &'static str| [("vendor", vendor), ("library", library), ("name", name), ("version", version)];
    xml.element("busInterface", |xml| {
        xml.leaf("name", interface.name());
        xml.empty("busType", &reference(name));
        xml.element("abstractionTypes", |xml| {
            xml.element("abstractionType", |xml| {
                xml.empty("abstractionRef", &reference(abstraction));
                xml.element("portMaps", |xml| {
                    for port in ports.iter().filter(|port| port.interface == interface) {
                        xml.element("portMap", |xml| {
                            xml.element("logicalPort", |xml| xml.leaf("name", &port.role));
                            xml.element("physicalPort", |xml| xml.leaf("name", &port.port.name));
                        });
                    }
                });
            });
        });
        match interface {
            Interface::Registers => {
                xml.element("slave", |xml| xml.empty("memoryMapRef", &[("memoryMapRef", MEMORY_MAP)]));
            }
            _ if interface.is_master() => xml.empty("master", &[]),
            _ => xml.empty("slave", &[]),
        }
        let parameters = parameters(interface);
        if !parameters.is_empty() {
            xml.element("parameters", |xml| {
                for (name, value) in &parameters {
                    let id = format!("{}_{name}", interface.name());
                    xml.element_with("parameter", &[("parameterId", &id)], |xml| {
                        xml.leaf("name", name);
                        xml.leaf("value", value);
                    });
                }
            });
        }
    });
}

fn memory_map(xml: &mut Xml, machine: &Machine) {
    xml.element("memoryMap", |xml| {
        xml.leaf("name", MEMORY_MAP);
        let shell = 4 * axi::REGISTERS.len() as u32;
        address_block(xml, "shell", "registers of the shell", 0, shell, |xml| {
            xml.leaf("usage", "register");
            for row in axi::REGISTERS {
                register(xml, row.name, row.meaning, row.offset, row.access);
            }
        });
        let first =
            Region::ALL.map(|(region, holds)| (region, holds, format!("{region:?}").to_lowercase(), region.base()));
        // Long programs go on in further regions.
        let is_long = machine.program_depth() > REGION_INSTRUCTIONS;
        let more =
            Region::ALL.into_iter().filter(|(region, _)| is_long && region.is_program()).map(|(region, holds)| {
                (region, holds, format!("{region:?}_more").to_lowercase(), region.instruction(REGION_INSTRUCTIONS))
            });
        for (region, holds, name, base) in first.into_iter().chain(more) {
            address_block(xml, &name, holds, axi::WINDOW + 4 * base, REGION_BYTES, |xml| {
                if region == Region::Registers {
                    xml.leaf("usage", "register");
                    for row in registers::REGISTERS {
                        register(xml, row.name, row.meaning, 4 * row.number, row.access);
                    }
                } else {
                    xml.leaf("usage", "memory");
                    xml.leaf("access", "write-only");
                }
            });
        }
        xml.leaf("addressUnitBits", "8");
    });
}

fn address_block(xml: &mut Xml, name: &str, holds: &str, base: u32, bytes: u32, content: impl FnOnce(&mut Xml)) {
    xml.element("addressBlock", |xml| {
        xml.leaf("name", name);
        xml.leaf("description", holds);
        xml.leaf("baseAddress", &hex(base));
        xml.leaf("range", &hex(bytes));
        xml.leaf("width", "32");
        content(xml);
    });
}

fn register(xml: &mut Xml, name: &str, meaning: &str, offset: u32, access: Access) {
    xml.element("register", |xml| {
        xml.leaf("name", name);
        xml.leaf("description", meaning);
        xml.leaf("addressOffset", &hex(offset));
        xml.leaf("size", "32");
        xml.leaf("volatile", "true");
        xml.leaf(
            "access",
            match access {
                Access::Read => "read-only",
                Access::ReadWrite => "read-write",
            },
        );
        // What its bits are is said in the description.
        xml.element("field", |xml| {
            xml.leaf("name", "value");
            xml.leaf("bitOffset", "0");
            xml.leaf("bitWidth", "32");
        });
    });
}

fn model(xml: &mut Xml, top: &str, ports: &[AxiPort]) {
    const VIEW: &str = "rtl";
    const INSTANTIATION: &str = "verilog";
    xml.element("views", |xml| {
        xml.element("view", |xml| {
            xml.leaf("name", VIEW);
            xml.leaf("envIdentifier", ":*Simulation:");
            xml.leaf("envIdentifier", ":*Synthesis:");
            xml.leaf("componentInstantiationRef", INSTANTIATION);
        });
    });
    xml.element("instantiations", |xml| {
        xml.element("componentInstantiation", |xml| {
            xml.leaf("name", INSTANTIATION);
            xml.leaf("language", "verilog");
            xml.leaf("moduleName", top);
            xml.element("fileSetRef", |xml| xml.leaf("localName", FILES));
        });
    });
    xml.element("ports", |xml| {
        for port in ports {
            xml.element("port", |xml| {
                xml.leaf("name", &port.port.name);
                xml.element("wire", |xml| wire(xml, port));
            });
        }
    });
}

fn wire(xml: &mut Xml, port: &AxiPort) {
    xml.leaf("direction", if port.port.direction == Direction::Input { "in" } else { "out" });
    if let Some((left, right)) = port.range() {
        xml.element("vectors", |xml| {
            xml.element("vector", |xml| {
                xml.leaf("left", &left.to_string());
                xml.leaf("right", &right.to_string());
            });
        });
    }
}

fn file_set(xml: &mut Xml, sources: &[String]) {
    xml.element("fileSet", |xml| {
        xml.leaf("name", FILES);
        for source in sources {
            xml.element("file", |xml| {
                xml.leaf("name", source);
                xml.leaf("fileType", "verilogSource");
            });
        }
    });
}

/// A number as the standard writes it.
fn hex(value: u32) -> String {
    format!("'h{value:x}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use arch::machine::MachineSpec;

    /// The buses of AMBA and the signals of Vivado, by the names under which their definitions are published.
    #[test]
    fn interfaces_have_their_definitions_and_parameters() {
        assert_eq!(definition(Interface::Clock), (["xilinx.com", "signal", "clock", "1.0"], "clock_rtl"));
        let (lite, stream) = (definition(Interface::Registers), definition(Interface::Output));
        assert_eq!(
            (lite.0[2], lite.1, stream.0[2], stream.1),
            ("AXI4Lite", "AXI4Lite_rtl", "AXI4Stream", "AXI4Stream_rtl")
        );
        assert_eq!(definition(Interface::Input), stream);
        let of_clock = parameters(Interface::Clock);
        let buses = [Interface::Registers, Interface::Input, Interface::Output].map(Interface::name);
        assert_eq!(of_clock[0], ("ASSOCIATED_BUSIF", buses.join(":")));
        assert_eq!(of_clock[1], ("ASSOCIATED_RESET", Interface::Reset.name().to_owned()));
        assert_eq!(parameters(Interface::Reset), [("POLARITY", "ACTIVE_LOW".to_owned())]);
        assert_eq!(parameters(Interface::Interrupt), [("SENSITIVITY", "LEVEL_HIGH".to_owned())]);
        assert!(parameters(Interface::Input).is_empty());
        assert_eq!((hex(0), hex(0x2a)), ("'h0".to_owned(), "'h2a".to_owned()));
    }

    /// Every leaf and every empty element with the path to it: an own reading of the text, line by line.
    fn read(text: &str) -> Vec<(String, String)> {
        let (mut path, mut found) = (Vec::new(), Vec::new());
        for line in text.lines().skip(2).map(str::trim) {
            let inner = line.trim_start_matches('<').trim_end_matches('>');
            if let Some(name) = inner.strip_prefix("/ipxact:") {
                assert_eq!(path.pop(), Some(name.to_owned()), "{line}");
                continue;
            }
            let name: String = inner["ipxact:".len()..].chars().take_while(char::is_ascii_alphanumeric).collect();
            let place = |path: &[String]| path.iter().chain([&name]).cloned().collect::<Vec<_>>().join("/");
            if let Some(attributes) = inner.strip_suffix('/') {
                found.push((place(&path), attributes["ipxact:".len() + name.len()..].trim().to_owned()));
            } else if let Some((_, rest)) = inner.split_once('>') {
                found.push((place(&path), rest.split('<').next().unwrap().to_owned()));
            } else {
                path.push(name);
            }
        }
        assert!(path.is_empty(), "{path:?}");
        found
    }

    #[test]
    fn long_programs_have_further_regions() {
        let spec = MachineSpec { program_depth: Some(4096), ..MachineSpec::default() };
        let machine = Machine::try_from(spec).unwrap();
        let (vendor, library, version) = ("us", "ours", "1.5");
        let about =
            Component { name: "long", vendor, library, version, top: "tabla_axi", sources: &[], machine: &machine };
        let found = read(&component(&about, "made by hand"));
        let all = |what: &str| -> Vec<&str> {
            let block = format!("component/memoryMaps/memoryMap/addressBlock/{what}");
            found.iter().filter(|(place, _)| *place == block).map(|(_, text)| text.as_str()).collect()
        };
        assert_eq!(all("name")[8..], ["alu_more", "root_more", "move_more", "load_more", "scalar_more"]);
        // Words 0x9_0000 to 0xc_0000 and 0xe_0000, four bytes each, behind 4 MB.
        assert_eq!(all("baseAddress")[8..], ["'h640000", "'h680000", "'h6c0000", "'h700000", "'h780000"]);
    }

    /// Buses, addresses, ports and files as docs/registers.md and the table of the shell's ports have them.
    #[test]
    #[expect(clippy::too_many_lines, reason = "one component, part by part")]
    fn a_component_holds_buses_registers_ports_and_files() {
        let machine = Machine::grid(2, 4, 16).unwrap();
        let sources = ["a.v", "b.v"].map(str::to_owned);
        let about = Component {
            name: "iris",
            vendor: "us",
            library: "ours",
            version: "1.5",
            top: "tabla_axi",
            sources: &sources,
            machine: &machine,
        };
        let text = component(&about, "made by hand");
        assert!(
            text.starts_with("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- made by hand -->\n<ipxact:component ")
        );
        let found = read(&text);
        let all = |path: &str| -> Vec<&str> {
            found.iter().filter(|(place, _)| place == path).map(|(_, text)| text.as_str()).collect()
        };
        let of = |path: &str| all(&format!("component/{path}"));
        assert_eq!(
            (of("vendor"), of("library"), of("name"), of("version")),
            (vec!["us"], vec!["ours"], vec!["iris"], vec!["1.5"])
        );
        let interface = "busInterfaces/busInterface";
        assert_eq!(of(&format!("{interface}/name")).len(), 6);
        // The registers are a slave with a map, the output is the only stream that we drive, the interrupt the only signal.
        assert_eq!(of(&format!("{interface}/slave/memoryMapRef")), ["memoryMapRef=\"control\""]);
        assert_eq!((of(&format!("{interface}/master")).len(), of(&format!("{interface}/slave")).len()), (2, 3));
        assert_eq!(of(&format!("{interface}/parameters/parameter/name")).len(), 4);
        let map = "memoryMaps/memoryMap";
        assert_eq!((of(&format!("{map}/name")), of(&format!("{map}/addressUnitBits"))), (vec!["control"], vec!["8"]));
        let block = format!("{map}/addressBlock");
        assert_eq!(
            of(&format!("{block}/name")),
            ["shell", "registers", "alu", "root", "move", "load", "tables", "scalar"]
        );
        // The window begins at 4 MB; a region has 64 K words.
        let bases = ["'h0", "'h400000", "'h440000", "'h480000", "'h4c0000", "'h500000", "'h540000", "'h580000"];
        assert_eq!(of(&format!("{block}/baseAddress")), bases);
        let ranges = of(&format!("{block}/range"));
        assert_eq!(ranges[0], format!("'h{:x}", 4 * axi::REGISTERS.len()));
        assert_eq!(ranges[1..], ["'h40000"; 7]);
        assert_eq!(
            (of(&format!("{block}/usage"))[..3].to_vec(), of(&format!("{block}/access"))),
            (vec!["register", "register", "memory"], vec!["write-only"; 6])
        );
        // All of the shell's lie side by side; those of the grid have the numbers of words.
        let (names, offsets) = (of(&format!("{block}/register/name")), of(&format!("{block}/register/addressOffset")));
        let shell = axi::REGISTERS.len();
        assert_eq!((names.len(), offsets.len()), (shell + registers::REGISTERS.len(), names.len()));
        for (n, offset) in offsets[..shell].iter().enumerate() {
            assert_eq!(*offset, format!("'h{:x}", 4 * n), "{}", names[n]);
        }
        for (row, (name, offset)) in registers::REGISTERS.iter().zip(names[shell..].iter().zip(&offsets[shell..])) {
            assert_eq!((*name, *offset), (row.name, format!("'h{:x}", row.number << 2).as_str()));
        }
        // The clock has no range; the data of AXI4-Lite are 32 bits.
        let (ports, directions) = (of("model/ports/port/name"), of("model/ports/port/wire/direction"));
        assert_eq!(ports.len(), directions.len());
        assert_eq!(directions[ports.iter().position(|name| *name == "s_axi_wdata").unwrap()], "in");
        assert_eq!(directions[ports.iter().position(|name| *name == "s_axi_rdata").unwrap()], "out");
        let vectors = of("model/ports/port/wire/vectors/vector/left");
        assert!(vectors.contains(&"31") && vectors.len() < ports.len());
        assert_eq!(of("model/ports/port/wire/vectors/vector/right"), vec!["0"; vectors.len()]);
        assert_eq!(of("model/instantiations/componentInstantiation/moduleName"), ["tabla_axi"]);
        assert_eq!(of("fileSets/fileSet/file/name"), ["a.v", "b.v"]);
        // Each port belongs to one bus.
        let mapped = format!("{interface}/abstractionTypes/abstractionType/portMaps/portMap/physicalPort/name");
        let (mut mapped, mut ports) = (of(&mapped), ports);
        mapped.sort_unstable();
        ports.sort_unstable();
        assert_eq!(mapped, ports);
    }
}
