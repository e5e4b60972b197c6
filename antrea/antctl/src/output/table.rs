//! Tables: columns as wide as their widest cell, one blank between them.

use std::fmt::Write;

/// A row.
pub(crate) type Cells = Vec<String>;

/// What stands where there is nothing.
const NONE: &str = "<NONE>";

/// How long the list in a cell may become.
const WIDEST_LIST: usize = 50;

/// A table with its rows in the order of their cells; an empty line instead of one without rows.
pub(crate) fn table(header: &[&str], mut rows: Vec<Cells>) -> String {
    if rows.is_empty() {
        return "\n".to_owned();
    }
    rows.sort();
    table_as_it_is(header, rows)
}

/// A table with its rows in the order that they are in.
pub(crate) fn table_as_it_is(header: &[&str], rows: Vec<Cells>) -> String {
    let header = header.iter().map(|name| (*name).to_owned()).collect();
    let rows: Vec<Cells> = [header].into_iter().chain(rows.into_iter().map(filled)).collect();
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell: &String| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in &rows {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        text.push_str(&cells.join(" "));
        text.push('\n');
    }
    text
}

fn filled(row: Cells) -> Cells {
    row.into_iter().map(|cell| if cell.is_empty() { NONE.to_owned() } else { cell }).collect()
}

/// A list in a cell: in order, and as much of it as fits.
pub(crate) fn list_cell(mut items: Vec<String>) -> String {
    items.sort();
    let mut cell = String::new();
    for (index, item) in items.iter().enumerate() {
        let separator = if index == 0 { "" } else { "," };
        if index > 0 && cell.len() + separator.len() + item.len() > WIDEST_LIST {
            let _ = write!(cell, " + {} more...", items.len() - index);
            break;
        }
        let _ = write!(cell, "{separator}{item}");
    }
    cell
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let row = |cells: [&str; 2]| cells.map(str::to_owned).to_vec();
        let text = table(&["NAME", "IP"], vec![row(["long-name", "10.0.0.1"]), row(["a", ""])]);
        assert_eq!(text, "NAME      IP      \na         <NONE>  \nlong-name 10.0.0.1\n");
        assert_eq!(table(&["NAME"], Vec::new()), "\n");
    }

    #[test]
    fn a_long_list_is_cut() {
        let items = |count: usize| (0..count).map(|number| format!("10.10.0.{number}")).collect();
        assert_eq!(list_cell(items(2)), "10.10.0.0,10.10.0.1");
        assert_eq!(list_cell(items(9)), "10.10.0.0,10.10.0.1,10.10.0.2,10.10.0.3,10.10.0.4 + 4 more...");
        assert_eq!(list_cell(Vec::new()), "");
    }
}
