//! What the programs of a step say that they measured: those in `benches/`, and perftest's.

use crate::compare::samples;

/// The variant of values that have none.
pub(super) const PLAIN: &str = "-";
/// Bytes of perftest's "MB".
const MEBI: f64 = 1_048_576.0;

/// One value: the size of its messages, or what it is where there is none, itself, and its unit as `benches/` write it.
#[derive(PartialEq, Debug)]
pub(super) struct Value {
    pub(super) bytes: Option<u64>,
    pub(super) variant: String,
    pub(super) value: f64,
    pub(super) unit: String,
}

/// All values in what was printed.
pub(super) fn printed(said: &str) -> Vec<Value> {
    let rows = samples::printed(2, said).into_iter();
    let ours = rows.map(|(key, value)| {
        let variant = if key.bytes.is_some() { PLAIN.to_owned() } else { key.variant };
        Value { bytes: key.bytes, variant, value, unit: key.unit }
    });
    ours.chain(perftest(said)).collect()
}

/// The rows of perftest's tables: its typical latency, which is a median, and its average bandwidth.
fn perftest(said: &str) -> Vec<Value> {
    let mut column = None;
    let mut values = Vec::new();
    for line in said.lines() {
        if line.trim_start().starts_with("#bytes") {
            column = measured(line);
            continue;
        }
        let cells: Vec<&str> = line.split_whitespace().collect();
        let (Some((at, factor, unit)), Some(Ok(bytes))) =
            (column, cells.first().map(|cell| cell.parse()))
        else {
            continue;
        };
        let value = cells.get(at).and_then(|cell| cell.parse::<f64>().ok());
        // Where the kernel does not know how fast the processor is, times are infinite.
        if let Some(value) = value.filter(|value| value.is_finite()) {
            let (variant, unit) = (PLAIN.to_owned(), unit.to_owned());
            values.push(Value { bytes: Some(bytes), variant, value: value * factor, unit });
        }
    }
    values
}

/// Which column of a table counts, by its heading; what its values are multiplied with, and their unit then.
fn measured(heading: &str) -> Option<(usize, f64, &'static str)> {
    // Names of columns have spaces, and each but the first two has its unit in brackets.
    let columns = heading.replace("BW ", "BW-").replace("% percentile", "%-percentile");
    let at = |name: &str| columns.split_whitespace().position(|column| column.starts_with(name));
    let bandwidth = at("BW-average[MB/sec]").map(|at| (at, MEBI / 1e6, "MB/s"));
    bandwidth.or_else(|| at("t_typical[usec]").map(|at| (at, 1.0, "us")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BANDWIDTH: &str = "\
---------------------------------------------------------------------------------------
                    RDMA_Write BW Test
 Dual-port       : OFF\t\tDevice         : rxe1
 local address: LID 0000 QPN 0x0012 PSN 0xa1b2c3 RKey 0x0002d3 VAddr 0x007f1c5b9d8000
 #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]
 4096       1000             51.20              50.00\t\t     0.012800
 65536      100              53.00              48.00\t\t     0.000768
---------------------------------------------------------------------------------------
";
    const LATENCY: &str = "\
 #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    \
t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec] 
 8       1000          19.79          2321.39      24.46    \t       29.57       \t103.26\t\t60.15\t\t2321.39
";

    #[test]
    fn tables_of_perftest_are_read_and_its_units_made_ours() {
        let value = |bytes, value, unit: &str| Value {
            bytes: Some(bytes),
            variant: PLAIN.into(),
            value,
            unit: unit.into(),
        };
        assert_eq!(
            printed(BANDWIDTH),
            [value(4096, 50.0 * 1.048576, "MB/s"), value(65536, 48.0 * 1.048576, "MB/s")]
        );
        assert_eq!(printed(LATENCY), [value(8, 24.46, "us")]);
    }

    #[test]
    fn rows_of_benches_are_read() {
        let said = "mpirun: a note\nrow bandwidth warm 65536 47.5 MB/s\n8 rows were wrong\nrow pairs most - 3 ms";
        let value = |bytes, variant: &str, value, unit: &str| Value {
            bytes,
            variant: variant.into(),
            value,
            unit: unit.into(),
        };
        assert_eq!(
            printed(said),
            [value(Some(65536), PLAIN, 47.5, "MB/s"), value(None, "most", 3.0, "ms")]
        );
    }

    #[test]
    fn what_is_no_table_is_none() {
        assert_eq!(printed(" #bytes of nothing\n 8 1000 24\n"), []);
        assert_eq!(printed(&LATENCY.replace("24.46", "inf")), []);
        assert_eq!(printed("Couldn't connect to 127.0.0.1:18515\n"), []);
    }
}
