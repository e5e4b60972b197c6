//! The tables that are realized on a Node, and their numbers.
//!
//! Numbers are given from 0 in the order of [`ORDER`], to the tables that an enabled feature requires. "The next
//! table" and "the first table of a stage" are always realized ones: a packet jumps over what is not there.

use std::collections::BTreeSet;

use antrea_openflow::TableId;

use crate::order::{Miss, ORDER, PipelineName, Stage, Table};

/// A table of this Node.
#[derive(Clone, Copy, Debug)]
struct Realized {
    table: Table,
    pipeline: PipelineName,
    stage: Stage,
    /// Where the table stands in [`ORDER`].
    position: usize,
    id: TableId,
    /// The next realized table of the pipeline.
    next: Option<TableId>,
}

/// The realized tables of a Node, in the order of their numbers.
#[derive(Clone, Debug)]
pub struct Layout {
    realized: Vec<Realized>,
}

/// A realized table that flows are being written for.
#[derive(Clone, Copy, Debug)]
pub struct OpenTable<'a> {
    realized: &'a Realized,
}

impl Layout {
    /// Numbers the tables whose names are in `required`.
    pub fn new(required: &BTreeSet<&'static str>) -> Self {
        let mut realized: Vec<Realized> = every_table()
            .enumerate()
            .filter(|(_, (_, _, table))| required.contains(table.name))
            // 255 is not a table but a wildcard (OpenFlow 1.5 §5.1), and there are far fewer tables than that.
            .zip(0..u8::MAX)
            .map(|((position, (pipeline, stage, table)), id)| Realized {
                table,
                pipeline,
                stage,
                position,
                id: TableId(id),
                next: None,
            })
            .collect();
        let mut behind: Option<(PipelineName, TableId)> = None;
        for table in realized.iter_mut().rev() {
            table.next = behind.filter(|(pipeline, _)| *pipeline == table.pipeline).map(|(_, id)| id);
            behind = Some((table.pipeline, table.id));
        }
        Self { realized }
    }

    /// Numbers and names, in order.
    pub fn names(&self) -> Vec<(TableId, &'static str)> {
        self.realized.iter().map(|realized| (realized.id, realized.table.name)).collect()
    }

    /// The table, for writing flows. None where no enabled feature requires it: such a table has no flows.
    pub fn open(&self, table: &Table) -> Option<OpenTable<'_>> {
        let realized = self.realized.iter().find(|realized| realized.table.name == table.name)?;
        Some(OpenTable { realized })
    }

    /// All tables, for writing their miss flows.
    pub fn tables(&self) -> impl Iterator<Item = OpenTable<'_>> {
        self.realized.iter().map(|realized| OpenTable { realized })
    }

    /// The number of a table.
    pub fn id(&self, table: &Table) -> Option<TableId> {
        Some(self.open(table)?.id())
    }

    /// The first realized table that stands behind `table`, realized or not, in its pipeline.
    pub fn after(&self, table: &Table) -> Option<TableId> {
        let (position, (pipeline, _, _)) =
            every_table().enumerate().find(|(_, (_, _, candidate))| candidate.name == table.name)?;
        let mut behind = self.realized.iter().filter(|realized| realized.position > position);
        behind.find(|realized| realized.pipeline == pipeline).map(|realized| realized.id)
    }

    /// The first realized table of the IP pipeline that belongs to `stage` or, if it has none, to a later one.
    pub fn first_of(&self, stage: Stage) -> Option<TableId> {
        let mut tables = self.realized.iter().filter(|realized| realized.pipeline == PipelineName::Ip);
        tables.find(|realized| realized.stage >= stage).map(|realized| realized.id)
    }
}

impl OpenTable<'_> {
    /// The table's number.
    pub fn id(&self) -> TableId {
        self.realized.id
    }

    /// What the table does with unmatched packets.
    pub fn miss(&self) -> Miss {
        self.realized.table.miss
    }

    /// The next table of the same pipeline.
    pub fn next(&self) -> Option<TableId> {
        self.realized.next
    }
}

fn every_table() -> impl Iterator<Item = (PipelineName, Stage, Table)> {
    ORDER.iter().flat_map(|pipeline| {
        let stages = pipeline.stages.iter();
        stages.flat_map(|stage| stage.tables.iter().map(|table| (pipeline.name, stage.stage, *table)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::{conntrack_state, ipv6, l3_forwarding, output, spoof_guard};

    fn layout(names: &[&'static str]) -> Layout {
        Layout::new(&names.iter().copied().collect())
    }

    #[test]
    fn numbers_follow_the_order_and_leave_no_gap() {
        let layout = layout(&["Output", "SpoofGuard", "Classifier"]);
        let names = layout.names();
        assert_eq!(names, [(TableId(0), "Classifier"), (TableId(1), "SpoofGuard"), (TableId(2), "Output")]);
    }

    #[test]
    fn the_next_table_is_the_next_realized_one_of_the_same_pipeline() {
        let layout = layout(&["ARPResponder", "SpoofGuard", "ConntrackState", "Output", "MulticastOutput"]);
        let next = |table| layout.after(table);
        assert_eq!(next(&spoof_guard::TABLE), layout.id(&conntrack_state::TABLE));
        assert_eq!(
            next(&ipv6::TABLE),
            layout.id(&conntrack_state::TABLE),
            "though it is not realized itself"
        );
        assert_eq!(next(&output::TABLE), None, "multicast is a pipeline of its own");
    }

    #[test]
    fn a_stage_without_tables_is_jumped_over() {
        let layout = layout(&["ConntrackState", "L3Forwarding", "Output"]);
        assert_eq!(layout.first_of(Stage::EgressSecurity), layout.id(&l3_forwarding::TABLE));
        assert_eq!(layout.first_of(Stage::Classifier), layout.id(&conntrack_state::TABLE));
    }
}
