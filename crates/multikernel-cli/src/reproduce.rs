//! `reproduce`.

use anyhow::{Result, bail};
use multikernel::Pool;
use multikernel::plan::Session;
use multikernel::report::TextTable;
use multikernel::reproduce::{reproduce, tables, tables_json};

use crate::args::Reproduce;
use crate::bar::Bar;
use crate::{data, print};

pub(crate) fn run(args: &Reproduce) -> Result<()> {
    let Some(table) = &args.table else {
        if args.json {
            return print(&(tables_json() + "\n"));
        }
        let mut list = TextTable::new(&["table", "what it shows", "data sets"]);
        for table in tables() {
            list.row(vec![table.name, table.summary, &table.sets.join(", ")]);
        }
        return print(&list.to_string());
    };
    if args.repeats == Some(0) {
        bail!("--repeats 0: must be 1 or more");
    }
    let mut bar = Bar::new(args.limits.quiet);
    let pool = Pool::new(args.limits.threads)?;
    let mut session = Session::new(&pool, &mut bar);
    session.control = data::control(&args.limits)?;
    session.memory = data::memory(None)?;
    let found = reproduce(table, args.data_dir.as_deref(), &args.only, args.repeats, &mut session)?;
    bar.clear();
    print(&if args.json { format!("{:#}\n", found.to_json()) } else { found.to_string() })
}
