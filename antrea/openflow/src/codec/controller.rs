//! `NXAST_CONTROLLER` and `NXAST_CONTROLLER2`. We send the latter; OVS answers with the former where that suffices.

use super::actions::{put_extension, subtype};
use super::error::DecodeError;
use super::property::{properties, put_bytes, put_flag, put_property_u8, put_property_u16, put_property_u32};
use super::reader::Reader;
use super::writer::put_zeros;
use crate::{Controller, MeterId, PacketInReason, Pause};

/// `NXAC2PT_*`.
mod property {
    pub(super) const MAX_LEN: u16 = 0;
    pub(super) const CONTROLLER_ID: u16 = 1;
    pub(super) const REASON: u16 = 2;
    pub(super) const USERDATA: u16 = 3;
    pub(super) const PAUSE: u16 = 4;
    pub(super) const METER_ID: u16 = 5;
}

pub(crate) fn put_controller(out: &mut Vec<u8>, controller: &Controller) {
    put_extension(out, subtype::CONTROLLER2, |out| {
        put_zeros(out, 6);
        if controller.max_len != u16::MAX {
            put_property_u16(out, property::MAX_LEN, controller.max_len);
        }
        if controller.id != 0 {
            put_property_u16(out, property::CONTROLLER_ID, controller.id);
        }
        if controller.reason != PacketInReason::Action {
            put_property_u8(out, property::REASON, controller.reason.code());
        }
        if !controller.userdata.is_empty() {
            put_bytes(out, property::USERDATA, &controller.userdata);
        }
        if controller.pause == Pause::Pause {
            put_flag(out, property::PAUSE);
        }
        if let Some(meter) = controller.meter {
            put_property_u32(out, property::METER_ID, meter.0);
        }
    });
}

/// Reads the fixed form.
pub(crate) fn controller_from(reader: &mut Reader<'_>) -> Result<Controller, DecodeError> {
    let (max_len, id) = (reader.u16()?, reader.u16()?);
    let reason = PacketInReason::from_code(reader.u8()?);
    Ok(Controller { max_len, id, reason, ..Controller::default() })
}

/// Reads the form with properties; none if there is one that [`Controller`] does not have.
pub(crate) fn controller2_from(reader: &mut Reader<'_>) -> Result<Option<Controller>, DecodeError> {
    reader.skip(6)?;
    let mut controller = Controller::default();
    for (kind, mut value) in properties(reader, "controller action")? {
        match kind {
            property::MAX_LEN => controller.max_len = value.u16()?,
            property::CONTROLLER_ID => controller.id = value.u16()?,
            property::REASON => controller.reason = PacketInReason::from_code(value.u8()?),
            property::USERDATA => controller.userdata = value.rest().to_vec(),
            property::PAUSE => controller.pause = Pause::Pause,
            property::METER_ID => controller.meter = Some(MeterId(value.u32()?)),
            _ => return Ok(None),
        }
    }
    Ok(Some(controller))
}
