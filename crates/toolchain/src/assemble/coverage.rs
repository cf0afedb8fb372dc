//! Which accesses of compiled code have no hook of the compiler's.
//!
//! A hook gets the address of the access that follows it. Both are followed through registers and the stack, as sums of values that are not
//! known ([`Form`]); an access is covered when a hook before it got the same address, and only once for each hook. Where control flow meets, and at
//! calls, everything is forgotten. So what is said to be covered is; of what is said not to be, some may be, which costs a second hook.
//!
//! *The stack.* Variables that no other thread can know have no hooks, and look like what a compiler keeps on the stack for itself. Where a
//! function takes no address of its frame, there is nothing else on it.

use super::{
    forms::{Extension, Form, Unknowns},
    operands::{Displacement, Memory, Operand},
    statements::{Kind, Statement, is_name},
};
use iced_x86::{Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register};
use std::collections::HashSet;

/// What an instruction does to memory that nothing has told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unhooked<'a> {
    Access(Access<'a>),
    /// `movs`, `stos` and `lods`, at the addresses in `rsi` and `rdi`.
    Blocks {
        element: usize,
        reads: bool,
        writes: bool,
        repeated: bool,
    },
    /// It is not understood which memory that is.
    Unknown,
}

/// An access by an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Access<'a> {
    pub memory: Memory<'a>,
    pub bytes: usize,
    pub reads: bool,
    pub writes: bool,
}

/// What a hook has told of.
struct Hooked {
    address: Form,
    bytes: i64,
    reads: bool,
    writes: bool,
    /// Bytes that were read and written since, a bit each.
    used: [u64; 2],
}

/// What is known of registers and memory at a place.
struct Known {
    /// By the number of the register.
    registers: Vec<Form>,
    /// What parts of the stack hold: address, bytes and value.
    slots: Vec<(Form, usize, Form)>,
    hooked: Vec<Hooked>,
}

/// The accesses of each statement that no hook covers.
pub(super) fn unhooked<'a>(
    statements: &[Statement<'a>],
    instructions: &[Option<Instruction>],
) -> Vec<Option<Unhooked<'a>>> {
    let targets = targets(statements);
    let constants = constants(statements);
    let taken = functions_with_addresses(statements, instructions);
    let mut walk = Walk {
        unknowns: Unknowns::default(),
        infos: InstructionInfoFactory::new(),
        known: Known {
            registers: Vec::new(),
            slots: Vec::new(),
            hooked: Vec::new(),
        },
        constants,
        frame_matters: false,
        loads_stay: statements.iter().any(is_of_clang),
    };
    walk.forget();
    let mut found = Vec::with_capacity(statements.len());
    let mut prefixed: Option<usize> = None;
    for (index, statement) in statements.iter().enumerate() {
        for label in statement.labels().0 {
            if is_function(label) {
                walk.frame_matters = taken.contains(base_name(label));
            }
            if is_function(label) || label.as_bytes()[0].is_ascii_digit() || targets.contains(label)
            {
                walk.forget();
            }
        }
        found.push(None);
        let Kind::Instruction { operands, .. } = statement.kind else {
            if statement.kind == Kind::Prefix {
                prefixed.get_or_insert(index);
            }
            continue;
        };
        let Some(instruction) = &instructions[prefixed.unwrap_or(index)] else {
            walk.forget();
            continue;
        };
        let place = prefixed.take().unwrap_or(index);
        found[place] = walk.step(instruction, operands, statement.by_hand);
    }
    found
}

struct Walk<'a> {
    unknowns: Unknowns,
    infos: InstructionInfoFactory,
    known: Known,
    /// Symbols of memory that nothing writes to.
    constants: HashSet<&'a str>,
    /// The function takes addresses of variables on its stack.
    frame_matters: bool,
    /// clang leaves an atomic load in place after its hook has loaded the value; what it loads is not used.
    loads_stay: bool,
}

impl<'a> Walk<'a> {
    /// Nothing is known any more, but which registers hold the frame.
    fn forget(&mut self) {
        let unknowns = &mut self.unknowns;
        self.known.registers = (0..16).map(|_| unknowns.fresh()).collect();
        self.known.registers[number(Register::RSP)] = unknowns.stack();
        self.known.registers[number(Register::RBP)] = unknowns.stack();
        self.known.slots.clear();
        self.known.hooked.clear();
    }

    fn step(
        &mut self,
        instruction: &Instruction,
        operands: &'a str,
        by_hand: bool,
    ) -> Option<Unhooked<'a>> {
        let operands = Operand::all(operands);
        let found = match &operands {
            Some(operands) => self.access(instruction, operands, by_hand),
            None => Some(Unhooked::Unknown),
        };
        match instruction.mnemonic() {
            Mnemonic::Call => self.call(operands.as_deref()),
            Mnemonic::Jmp | Mnemonic::Ret | Mnemonic::Ud2 => self.forget(),
            _ => self.effect(instruction, operands.as_deref().unwrap_or_default()),
        }
        found
    }

    /// The access that an instruction makes and no hook has told of.
    fn access(
        &mut self,
        instruction: &Instruction,
        operands: &[Operand<'a>],
        by_hand: bool,
    ) -> Option<Unhooked<'a>> {
        if let Some(blocks) = blocks(instruction) {
            return (by_hand || !self.covers_blocks(blocks)).then_some(blocks);
        }
        if !instruction.op_kinds().any(|kind| kind == OpKind::Memory) {
            return None;
        }
        let (reads, writes, bytes) = self.effect_on_memory(instruction)?;
        let memory = operands.iter().find_map(|operand| match operand {
            Operand::Memory(memory) => Some(*memory),
            _ => None,
        });
        let Some(memory) = memory else {
            return Some(Unhooked::Unknown);
        };
        if self.is_constant(&memory) {
            return None;
        }
        let access = Access {
            memory,
            bytes,
            reads,
            writes,
        };
        let Some(address) = self.address(&memory).filter(|_| bytes > 0) else {
            return Some(Unhooked::Unknown);
        };
        if self.unknowns.is_stack(&address) && !self.frame_matters {
            return by_hand.then_some(Unhooked::Access(access)).filter(|_| {
                // A fence, and no access.
                instruction.has_lock_prefix()
            });
        }
        let covered = !by_hand
            && (!reads || self.known.cover(&address, bytes, false))
            && (!writes || self.known.cover(&address, bytes, true));
        (!covered).then_some(Unhooked::Access(access))
    }

    fn covers_blocks(&mut self, blocks: Unhooked<'_>) -> bool {
        let Unhooked::Blocks {
            element,
            reads,
            writes,
            repeated,
        } = blocks
        else {
            return false;
        };
        let form = |register| self.known.registers[number(register)].clone();
        let (from, to, count) = (
            form(Register::RSI),
            form(Register::RDI),
            form(Register::RCX),
        );
        let count = match repeated {
            true if !count.terms.is_empty() => return false,
            true => count.constant as usize,
            false => 1,
        };
        let Some(bytes) = count.checked_mul(element).filter(|bytes| *bytes > 0) else {
            return false;
        };
        let known = &mut self.known;
        (!reads || known.cover(&from, bytes, false)) && (!writes || known.cover(&to, bytes, true))
    }

    /// Whether the memory operand is read and written, and its bytes; `None`: neither.
    fn effect_on_memory(&mut self, instruction: &Instruction) -> Option<(bool, bool, usize)> {
        match instruction.mnemonic() {
            Mnemonic::Push | Mnemonic::Call | Mnemonic::Jmp => return Some((true, false, 8)),
            Mnemonic::Pop => return Some((false, true, 8)),
            _ => {}
        }
        let info = self.infos.info(instruction);
        let used = info.used_memory().first()?;
        let (reads, writes) = match used.access() {
            OpAccess::Read | OpAccess::CondRead => (true, false),
            OpAccess::Write | OpAccess::CondWrite => (false, true),
            OpAccess::ReadWrite | OpAccess::ReadCondWrite => (true, true),
            _ => return None,
        };
        Some((reads, writes, used.memory_size().size()))
    }

    /// Whether nothing ever writes there: constants of the compiler, tables of addresses, the guard of the stack.
    fn is_constant(&self, memory: &Memory<'_>) -> bool {
        let Some(displacement) = Displacement::read(memory.displacement) else {
            return false;
        };
        match displacement.symbol {
            Some(symbol) => {
                symbol.starts_with(".L")
                    || symbol.contains("@GOT")
                    || symbol.contains("@TLS")
                    || symbol.contains("tpoff") && memory.base == Some("rip")
                    || self.constants.contains(symbol)
            }
            None => memory.segment.is_some() && memory.base.is_none() && memory.index.is_none(),
        }
    }

    /// The address of an operand; `None`: it is no sum.
    fn address(&mut self, memory: &Memory<'_>) -> Option<Form> {
        let displacement = Displacement::read(memory.displacement)?;
        let mut form = Form::number(displacement.offset);
        if let Some(symbol) = displacement.symbol {
            form = form.plus(&self.unknowns.symbol(symbol));
        }
        if memory.segment.is_some() {
            form = form.plus(&self.unknowns.symbol("%fs:0"));
        }
        let base = memory.base.filter(|base| *base != "rip");
        for (register, scale) in [(base, 1), (memory.index, memory.scale)] {
            if let Some(register) = register {
                let register = general_register(register)?;
                form = form.plus(&self.known.registers[register].clone().times(scale));
            }
        }
        Some(form)
    }

    /// A call: of a hook, or of a function that may do anything.
    fn call(&mut self, operands: Option<&[Operand<'_>]>) {
        let name = match operands {
            Some([Operand::Memory(memory)]) => memory.displacement,
            _ => "",
        };
        let name = name.split('@').next().unwrap_or_default();
        let load = loaded(name).filter(|_| self.loads_stay);
        let hook = hook(name).or(load.map(|bytes| (true, false, Some(bytes))));
        if let Some((reads, writes, bytes)) = hook {
            let address = self.known.registers[number(Register::RDI)].clone();
            let length = &self.known.registers[number(Register::RSI)];
            let length = length.terms.is_empty().then_some(length.constant);
            if let Some(bytes) = bytes.or(length) {
                self.known.hooked.push(Hooked {
                    address,
                    bytes,
                    reads,
                    writes,
                    used: [0; 2],
                });
            }
        } else if !name.starts_with("__tsan_") {
            self.known.slots.clear();
            self.known.hooked.clear();
        }
        for register in VOLATILE {
            self.known.registers[number(register)] = self.unknowns.fresh();
        }
    }

    /// What an instruction does to registers and to the stack.
    fn effect(&mut self, instruction: &Instruction, operands: &[Operand<'_>]) {
        let computed = self.computed(instruction, operands);
        let info = self.infos.info(instruction);
        let written: Vec<Register> = info
            .used_registers()
            .iter()
            .filter(|used| !matches!(used.access(), OpAccess::Read | OpAccess::CondRead))
            .map(|used| used.register().full_register())
            .filter(|register| register.is_gpr64())
            .collect();
        let stores = self.stored(instruction, operands);
        for register in written {
            // Compilers keep frame pointers: a flag demands it.
            let stack = matches!(register, Register::RSP | Register::RBP);
            self.known.registers[number(register)] = match stack {
                true => self.unknowns.stack(),
                false => self.unknowns.fresh(),
            };
        }
        if let Some((register, form)) = computed {
            self.known.registers[number(register)] = form;
        }
        match stores {
            Stores::Nothing => {}
            Stores::Slot(address, bytes, value) => self.known.store(address, bytes, value),
            Stores::Elsewhere => self.known.slots.clear(),
        }
    }

    /// What an instruction leaves in a register, if that is a sum.
    fn computed(
        &mut self,
        instruction: &Instruction,
        operands: &[Operand<'_>],
    ) -> Option<(Register, Form)> {
        let into = instruction.op0_register();
        let target = into.full_register();
        let wide = into == target;
        let is_register = instruction.op0_kind() == OpKind::Register && target.is_gpr64();
        let moved = |bytes: i64, known: &Known| {
            let rsp = known.registers[number(Register::RSP)].clone();
            Some((Register::RSP, rsp.plus(&Form::number(bytes))))
        };
        match instruction.mnemonic() {
            Mnemonic::Push => return moved(-8, &self.known),
            Mnemonic::Pop if target != Register::RSP => return moved(8, &self.known),
            Mnemonic::Cdqe => {
                let rax = self.known.registers[number(Register::RAX)].clone();
                let form = self.unknowns.extended(Extension::Sign(4), rax);
                return Some((Register::RAX, form));
            }
            _ if !is_register => return None,
            _ => {}
        }
        let old = self.known.registers[number(target)].clone();
        let last = operands.len().checked_sub(2).map(|at| &operands[at]);
        let immediate = || match operands.first() {
            Some(Operand::Immediate(text)) => super::operands::number(text),
            _ => None,
        };
        let form = match instruction.mnemonic() {
            Mnemonic::Mov if wide => self.value(last?, 8)?,
            Mnemonic::Mov if into.size() == 4 => {
                let value = self.value(last?, 4)?;
                self.unknowns.extended(Extension::Zero(4), value)
            }
            Mnemonic::Lea if wide => match last? {
                Operand::Memory(memory) => self.address(memory)?,
                _ => return None,
            },
            Mnemonic::Movsxd | Mnemonic::Movsx if wide => {
                let bytes = match instruction.op1_kind() {
                    OpKind::Register => instruction.op1_register().size(),
                    _ => instruction.memory_size().size(),
                };
                let value = self.value(last?, bytes)?;
                self.unknowns.extended(Extension::Sign(bytes), value)
            }
            Mnemonic::Xor if instruction.op0_register() == instruction.op1_register() => {
                Form::number(0)
            }
            Mnemonic::Add if wide => old.plus(&self.value(last?, 8)?),
            Mnemonic::Sub if wide => old.plus(&self.value(last?, 8)?.times(-1)),
            Mnemonic::Inc if wide => old.plus(&Form::number(1)),
            Mnemonic::Dec if wide => old.plus(&Form::number(-1)),
            Mnemonic::Shl | Mnemonic::Sal if wide => match operands {
                [_] => old.times(2),
                _ => old.times(1_i64.checked_shl(immediate()?.try_into().ok()?)?),
            },
            Mnemonic::Imul if wide && operands.len() == 3 => {
                self.value(&operands[1], 8)?.times(immediate()?)
            }
            _ => return None,
        };
        Some((target, form))
    }

    /// What an operand of so many bytes holds, as a sum.
    fn value(&mut self, operand: &Operand<'_>, bytes: usize) -> Option<Form> {
        match operand {
            Operand::Immediate(text) => {
                let displacement = Displacement::read(text)?;
                let form = Form::number(displacement.offset);
                Some(match displacement.symbol {
                    Some(symbol) => form.plus(&self.unknowns.symbol(symbol)),
                    None => form,
                })
            }
            Operand::Register(name) => {
                let register = register_of_size(name, bytes)?;
                Some(self.known.registers[register].clone())
            }
            Operand::Memory(memory) => {
                let of_thread = memory.segment.is_some();
                if of_thread && memory.displacement == "0" && memory.base.is_none() {
                    return Some(self.unknowns.symbol("%fs:0"));
                }
                // A table of addresses that the linker fills in.
                if let Some(symbol) = memory.displacement.strip_suffix("@GOTPCREL") {
                    return Some(self.unknowns.symbol(symbol));
                }
                let address = self.address(memory)?;
                if !self.unknowns.is_stack(&address) {
                    return None;
                }
                let slots = self.known.slots.iter();
                let known = slots
                    .filter(|slot| (&slot.0, slot.1) == (&address, bytes))
                    .map(|slot| slot.2.clone())
                    .next();
                let value = known.unwrap_or_else(|| {
                    let value = self.unknowns.fresh();
                    self.known.slots.push((address, bytes, value.clone()));
                    value
                });
                Some(value)
            }
        }
    }

    /// What an instruction writes to memory.
    fn stored(&mut self, instruction: &Instruction, operands: &[Operand<'_>]) -> Stores {
        let memory = match operands.last() {
            Some(Operand::Memory(memory))
                if instruction.op_kinds().any(|kind| kind == OpKind::Memory) =>
            {
                memory
            }
            _ if blocks(instruction)
                .is_some_and(|it| matches!(it, Unhooked::Blocks { writes: true, .. })) =>
            {
                return Stores::Elsewhere;
            }
            _ => return Stores::Nothing,
        };
        if !matches!(self.effect_on_memory(instruction), Some((_, true, _))) {
            return Stores::Nothing;
        }
        let address = self.address(memory);
        let Some(address) = address.filter(|address| self.unknowns.is_stack(address)) else {
            return Stores::Elsewhere;
        };
        let bytes = instruction.memory_size().size();
        let value = match (instruction.mnemonic(), operands.first()) {
            (Mnemonic::Mov, Some(operand)) if operands.len() == 2 => self.value(operand, bytes),
            _ => None,
        };
        let value = value.unwrap_or_else(|| self.unknowns.fresh());
        Stores::Slot(address, bytes, value)
    }
}

enum Stores {
    Nothing,
    Slot(Form, usize, Form),
    /// Memory that may be any.
    Elsewhere,
}

impl Known {
    /// Whether hooks have told of all these bytes, and of no other access to them since.
    fn cover(&mut self, address: &Form, bytes: usize, write: bool) -> bool {
        let which = usize::from(write);
        for hooked in self.hooked.iter_mut().rev() {
            let told = if write { hooked.writes } else { hooked.reads };
            let Some(offset) = address.behind(&hooked.address).filter(|_| told) else {
                continue;
            };
            let end = offset.checked_add_unsigned(bytes as u64);
            if offset < 0 || end.is_none_or(|end| end > hooked.bytes) {
                continue;
            }
            // Long ranges are those of functions on memory, and of whole structures.
            if hooked.bytes > 64 {
                return true;
            }
            let mask = (u64::MAX >> (64 - bytes.min(64))) << offset;
            if hooked.used[which] & mask == 0 {
                hooked.used[which] |= mask;
                return true;
            }
        }
        false
    }

    /// The stack holds a value from now on.
    fn store(&mut self, address: Form, bytes: usize, value: Form) {
        // What may overlap is forgotten: what lies elsewhere on the stack has the same terms and another constant.
        self.slots
            .retain(|(known, size, _)| match address.behind(known) {
                Some(behind) => behind >= *size as i64 || -behind >= bytes as i64,
                None => false,
            });
        self.slots.push((address, bytes, value));
    }
}

/// Registers that a call may change.
const VOLATILE: [Register; 9] = [
    Register::RAX,
    Register::RCX,
    Register::RDX,
    Register::RSI,
    Register::RDI,
    Register::R8,
    Register::R9,
    Register::R10,
    Register::R11,
];

fn number(register: Register) -> usize {
    register.number()
}

/// Names of the general registers of 64 and of 32 bits, by their numbers.
const REGISTERS: [(&str, &str); 16] = [
    ("rax", "eax"),
    ("rcx", "ecx"),
    ("rdx", "edx"),
    ("rbx", "ebx"),
    ("rsp", "esp"),
    ("rbp", "ebp"),
    ("rsi", "esi"),
    ("rdi", "edi"),
    ("r8", "r8d"),
    ("r9", "r9d"),
    ("r10", "r10d"),
    ("r11", "r11d"),
    ("r12", "r12d"),
    ("r13", "r13d"),
    ("r14", "r14d"),
    ("r15", "r15d"),
];

/// The name of a general register of 64 bits.
pub(super) fn general_register_name(register: Register) -> &'static str {
    REGISTERS[number(register)].0
}

fn general_register(name: &str) -> Option<usize> {
    REGISTERS.iter().position(|names| names.0 == name)
}

fn register_of_size(name: &str, bytes: usize) -> Option<usize> {
    match bytes {
        8 => general_register(name),
        4 => REGISTERS.iter().position(|names| names.1 == name),
        _ => None,
    }
}

/// Whether a hook of this name tells of reads and of writes, and of how many bytes; `None` instead of a number: its second argument.
fn hook(name: &str) -> Option<(bool, bool, Option<i64>)> {
    let kind = name.strip_prefix("__tsan_")?;
    match kind {
        "read_range" => return Some((true, false, None)),
        "write_range" => return Some((false, true, None)),
        "vptr_read" => return Some((true, false, Some(8))),
        "vptr_update" => return Some((false, true, Some(8))),
        _ => {}
    }
    let kind = kind.strip_prefix("unaligned_").unwrap_or(kind);
    let kind = kind.strip_prefix("volatile_").unwrap_or(kind);
    let (reads, writes, bytes) = match kind {
        _ if kind.starts_with("read_write") => (true, true, &kind["read_write".len()..]),
        _ if kind.starts_with("read") => (true, false, &kind["read".len()..]),
        _ if kind.starts_with("write") => (false, true, &kind["write".len()..]),
        _ => return None,
    };
    Some((reads, writes, Some(bytes.parse().ok()?)))
}

/// The bytes that a hook of this name loads atomically.
fn loaded(name: &str) -> Option<i64> {
    let bits = name.strip_prefix("__tsan_atomic")?.strip_suffix("_load")?;
    Some(bits.parse::<i64>().ok()? / 8)
}

/// Whether clang says here that the code is its own.
pub(super) fn is_of_clang(statement: &Statement<'_>) -> bool {
    matches!(statement.kind, Kind::Directive { name: ".ident", arguments } if arguments.contains("clang"))
}

/// Instructions that access memory at `rsi` and `rdi`.
fn blocks(instruction: &Instruction) -> Option<Unhooked<'static>> {
    let (element, reads, writes) = match instruction.mnemonic() {
        Mnemonic::Movsb => (1, true, true),
        Mnemonic::Movsw => (2, true, true),
        Mnemonic::Movsd if instruction.is_string_instruction() => (4, true, true),
        Mnemonic::Movsq => (8, true, true),
        Mnemonic::Stosb => (1, false, true),
        Mnemonic::Stosw => (2, false, true),
        Mnemonic::Stosd => (4, false, true),
        Mnemonic::Stosq => (8, false, true),
        Mnemonic::Lodsb => (1, true, false),
        Mnemonic::Lodsw => (2, true, false),
        Mnemonic::Lodsd => (4, true, false),
        Mnemonic::Lodsq => (8, true, false),
        // How many bytes they look at depends on what these are.
        _ if instruction.is_string_instruction() => return Some(Unhooked::Unknown),
        _ => return None,
    };
    Some(Unhooked::Blocks {
        element,
        reads,
        writes,
        repeated: instruction.has_rep_prefix(),
    })
}

/// Whether a label begins a function, and is not a place in one.
pub(super) fn is_function(label: &str) -> bool {
    !label.starts_with(".L") && !label.as_bytes()[0].is_ascii_digit()
}

/// The function that a part of it, moved away because it is seldom run, is named after.
fn base_name(label: &str) -> &str {
    label.split(".cold").next().unwrap_or(label)
}

/// Labels that something may jump to: all that are named outside of debug information.
fn targets<'a>(statements: &[Statement<'a>]) -> HashSet<&'a str> {
    let mut debug = false;
    let mut found = HashSet::new();
    for statement in statements {
        let words = match statement.kind {
            Kind::Directive { name, arguments } => {
                if matches!(name, ".section" | ".pushsection") {
                    debug = arguments.starts_with(".debug");
                } else if matches!(name, ".text" | ".data" | ".bss" | ".popsection") {
                    debug = false;
                }
                if debug || name.starts_with(".cfi") || name == ".loc" {
                    continue;
                }
                arguments
            }
            Kind::Instruction { operands, .. } => operands,
            _ => continue,
        };
        let words = words.split(|c: char| !is_name(c));
        found.extend(words.filter(|word| word.starts_with(".L")));
    }
    found
}

/// Symbols of sections that cannot be written to.
fn constants<'a>(statements: &[Statement<'a>]) -> HashSet<&'a str> {
    let mut constant = false;
    let mut found = HashSet::new();
    for statement in statements {
        if let Kind::Directive { name, arguments } = statement.kind {
            match name {
                ".section" | ".pushsection" => {
                    let data = arguments.starts_with(".rodata");
                    constant = data || arguments.starts_with(".data.rel.ro");
                }
                ".text" | ".data" | ".bss" | ".popsection" => constant = false,
                _ => {}
            }
        }
        if constant {
            found.extend(statement.labels().0);
        }
    }
    found
}

/// Functions that take the address of something in their frame.
fn functions_with_addresses<'a>(
    statements: &[Statement<'a>],
    instructions: &[Option<Instruction>],
) -> HashSet<&'a str> {
    let frame = |register| matches!(register, Register::RSP | Register::RBP);
    let takes = |instruction: &Instruction| {
        let source = match instruction.mnemonic() {
            Mnemonic::Lea => frame(instruction.memory_base()) || frame(instruction.memory_index()),
            Mnemonic::Mov | Mnemonic::Add => frame(instruction.op1_register()),
            _ => false,
        };
        source && !frame(instruction.op0_register())
    };
    by_function(statements, instructions)
        .filter(|(_, _, instruction)| instruction.is_some_and(takes))
        .map(|(function, ..)| base_name(function))
        .collect()
}

/// The statements, each with the function it belongs to and the instruction it is.
pub(super) fn by_function<'s, 'a>(
    statements: &'s [Statement<'a>],
    instructions: &'s [Option<Instruction>],
) -> impl Iterator<Item = (&'a str, &'s Statement<'a>, Option<&'s Instruction>)> {
    let mut function = "";
    statements
        .iter()
        .zip(instructions)
        .map(move |(statement, instruction)| {
            let labels = statement.labels().0;
            let begins = labels.into_iter().rfind(|label| is_function(label));
            function = begins.unwrap_or(function);
            (function, statement, instruction.as_ref())
        })
}
