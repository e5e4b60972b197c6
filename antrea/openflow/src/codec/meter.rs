//! `OFPT_METER_MOD` and meter descriptions (OpenFlow 1.5 §7.3.4.4).

use super::error::DecodeError;
use super::reader::{Reader, bad_value};
use super::writer::{put_padded_element, put_u16, put_u32, put_zeros, set_length};
use crate::{Band, Meter, MeterFlags, MeterId, MeterMod};

/// `OFPMC_*`.
mod command {
    pub(super) const ADD: u16 = 0;
    pub(super) const MODIFY: u16 = 1;
    pub(super) const DELETE: u16 = 2;
}

/// `OFPMBT_DROP`.
const BAND_DROP: u16 = 1;

pub(crate) fn put_meter_mod(out: &mut Vec<u8>, message: &MeterMod) {
    let (command, flags, id, bands): (_, _, _, &[Band]) = match message {
        MeterMod::Add(meter) => (command::ADD, meter.flags, meter.id, &meter.bands),
        MeterMod::Modify(meter) => (command::MODIFY, meter.flags, meter.id, &meter.bands),
        MeterMod::Delete(id) => (command::DELETE, MeterFlags::default(), *id, &[]),
    };
    put_u16(out, command);
    put_u16(out, flags.bits());
    put_u32(out, id.0);
    put_bands(out, bands);
}

fn put_bands(out: &mut Vec<u8>, bands: &[Band]) {
    for band in bands {
        put_padded_element(out, BAND_DROP, |out| {
            put_u32(out, band.rate);
            put_u32(out, band.burst);
            put_zeros(out, 4);
        });
    }
}

pub(crate) fn meter_mod_from(reader: &mut Reader<'_>) -> Result<MeterMod, DecodeError> {
    let command = reader.u16()?;
    let flags = MeterFlags::from_bits(reader.u16()?);
    let id = MeterId(reader.u32()?);
    let meter = Meter { id, flags, bands: bands_from(reader)? };
    Ok(match command {
        command::ADD => MeterMod::Add(meter),
        command::MODIFY => MeterMod::Modify(meter),
        command::DELETE => MeterMod::Delete(id),
        _ => return Err(reader.bad_value(command)),
    })
}

/// Bands that do not drop are refused: OVS has none.
fn bands_from(reader: &mut Reader<'_>) -> Result<Vec<Band>, DecodeError> {
    let mut bands = Vec::new();
    while !reader.is_empty() {
        let (kind, bytes) = reader.element(12, 1)?;
        if kind != BAND_DROP {
            return Err(bad_value("meter band", kind));
        }
        let mut band = Reader::new(bytes, "meter band");
        band.skip(4)?;
        bands.push(Band { rate: band.u32()?, burst: band.u32()? });
    }
    Ok(bands)
}

/// An entry of a meter description.
pub(crate) fn put_meter_description(out: &mut Vec<u8>, meter: &Meter) {
    let start = out.len();
    put_zeros(out, 2);
    put_u16(out, meter.flags.bits());
    put_u32(out, meter.id.0);
    put_bands(out, &meter.bands);
    set_length(out, start, start);
}

/// Reads an entry of a meter description.
pub(crate) fn meter_description_from(reader: &mut Reader<'_>) -> Result<Meter, DecodeError> {
    let mut ahead = reader.clone();
    let length = usize::from(ahead.u16()?);
    let mut entry = reader.part(length)?.named("meter description");
    entry.skip(2)?;
    let flags = MeterFlags::from_bits(entry.u16()?);
    let id = MeterId(entry.u32()?);
    Ok(Meter { id, flags, bands: bands_from(&mut entry)? })
}
