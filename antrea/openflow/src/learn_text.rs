//! Text of `learn`.

use std::fmt;

use crate::arguments::Arguments;
use crate::names::Names;
use crate::value::{Place, write_hexadecimal, write_value};
use crate::{FlowPriority, Learn, LearnFlags, LearnSpec, SubField};

pub(crate) fn write_learn(f: &mut fmt::Formatter<'_>, learn: &Learn, names: &dyn Names) -> fmt::Result {
    f.write_str("learn(")?;
    let mut arguments = Arguments::new(f);
    arguments.table(Some(learn.table), names)?;
    arguments.number_if_set("idle_timeout", learn.idle_timeout)?;
    arguments.number_if_set("hard_timeout", learn.hard_timeout)?;
    arguments.number_if_set("fin_idle_timeout", learn.fin_idle_timeout)?;
    arguments.number_if_set("fin_hard_timeout", learn.fin_hard_timeout)?;
    if learn.priority != FlowPriority::DEFAULT {
        arguments.add(|f| write!(f, "priority={}", learn.priority))?;
    }
    arguments.word_if(learn.flags.has(LearnFlags::SEND_FLOW_REMOVED), "send_flow_rem")?;
    arguments.word_if(learn.flags.has(LearnFlags::DELETE_LEARNED), "delete_learned")?;
    if learn.cookie.0 != 0 {
        arguments.add(|f| write!(f, "cookie={}", learn.cookie))?;
    }
    if learn.limit != 0 {
        arguments.add(|f| write!(f, "limit={}", learn.limit))?;
    }
    for spec in &learn.specs {
        arguments.add(|f| write_spec(f, spec, names))?;
    }
    f.write_str(")")
}

fn write_spec(f: &mut fmt::Formatter<'_>, spec: &LearnSpec, names: &dyn Names) -> fmt::Result {
    match *spec {
        LearnSpec::MatchField(target, source) if target == source => write!(f, "{target}"),
        LearnSpec::MatchField(target, source) => write!(f, "{target}={source}"),
        LearnSpec::MatchValue(target, value) => write_match_value(f, target, value, names),
        LearnSpec::LoadField(target, source) => write!(f, "load:{source}->{target}"),
        LearnSpec::LoadValue(target, value) => {
            f.write_str("load:")?;
            write_hexadecimal(f, value)?;
            write!(f, "->{target}")
        }
        LearnSpec::Output(source) => write!(f, "output:{source}"),
    }
}

fn write_match_value(
    f: &mut fmt::Formatter<'_>,
    target: SubField,
    value: u128,
    names: &dyn Names,
) -> fmt::Result {
    if !target.is_whole() {
        write!(f, "{target}=")?;
        return write_hexadecimal(f, value);
    }
    let field = target.field();
    write!(f, "{}=", field.name())?;
    write_value(f, (field, Place::SetField), (value, field.full_mask()), names)
}
