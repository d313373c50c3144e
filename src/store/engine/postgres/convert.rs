//! Values between the store and PostgreSQL's wire: parameters, array parameters, rows.

use std::error::Error;

use bytes::BytesMut;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

use super::errors::{WrongType, fault as fault_of};
use crate::store::StoreError;
use crate::store::engine::sql::{Column, Sql};
use crate::store::engine::value::{Row, Value};

impl ToSql for Value {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        let wrong = |given| Box::new(WrongType { given, place: ty.to_string() });
        match self {
            Value::Null => Ok(IsNull::Yes),
            Value::Int(n) if *ty == Type::INT8 => n.to_sql(ty, out),
            Value::Text(text) if matches!(*ty, Type::TEXT | Type::VARCHAR) => text.to_sql(ty, out),
            Value::Bytes(bytes) if *ty == Type::BYTEA => bytes.as_slice().to_sql(ty, out),
            Value::Int(_) => Err(wrong("integer")),
            Value::Text(_) => Err(wrong("text")),
            Value::Bytes(_) => Err(wrong("bytes")),
        }
    }

    fn accepts(_: &Type) -> bool {
        true // judged above, where the value is known
    }

    to_sql_checked!();
}

/// One parameter per column, holding that column of all rows.
pub(super) fn arrays(
    statement: &str,
    columns: &[(&'static str, Column)],
    rows: &[&[Value]],
) -> Result<Vec<Box<dyn ToSql + Sync + Send>>, StoreError> {
    let fault = |name: &str| fault_of(statement, format_args!("column {name} got a value of another type"));
    let mut all: Vec<Box<dyn ToSql + Sync + Send>> = Vec::with_capacity(columns.len());
    for (i, (name, column)) in columns.iter().enumerate() {
        let cells = rows.iter().map(|row| row.get(i).unwrap_or(&Value::Null));
        match column {
            Column::Int => {
                let ints: Result<Vec<Option<i64>>, _> = cells
                    .map(|cell| match cell {
                        Value::Int(n) => Ok(Some(*n)),
                        Value::Null => Ok(None),
                        _ => Err(fault(name)),
                    })
                    .collect();
                all.push(Box::new(ints?));
            }
            Column::Text => {
                let texts: Result<Vec<Option<String>>, _> = cells
                    .map(|cell| match cell {
                        Value::Text(text) => Ok(Some(text.clone())),
                        Value::Null => Ok(None),
                        _ => Err(fault(name)),
                    })
                    .collect();
                all.push(Box::new(texts?));
            }
            Column::Bytes => {
                let blobs: Result<Vec<Option<Vec<u8>>>, _> = cells
                    .map(|cell| match cell {
                        Value::Bytes(bytes) => Ok(Some(bytes.clone())),
                        Value::Null => Ok(None),
                        _ => Err(fault(name)),
                    })
                    .collect();
                all.push(Box::new(blobs?));
            }
        }
    }
    Ok(all)
}

pub(super) fn row(sql: &'static Sql, row: &tokio_postgres::Row) -> Result<Row, StoreError> {
    let fault = |error: String| fault_of(sql.name, error);
    let names = sql.answers(|| row.columns().iter().map(|column| column.name().to_owned()).collect());
    let mut values = Vec::with_capacity(row.len());
    for (i, column) in row.columns().iter().enumerate() {
        let value = match *column.type_() {
            Type::INT8 => row.try_get::<_, Option<i64>>(i).map(Value::from),
            Type::INT4 => row.try_get::<_, Option<i32>>(i).map(|n| n.map(i64::from).into()),
            Type::TEXT | Type::VARCHAR => row.try_get::<_, Option<String>>(i).map(Value::from),
            Type::BYTEA => row.try_get::<_, Option<Vec<u8>>>(i).map(Value::from),
            ref other => return Err(fault(format!("column {} has type {other}", column.name()))),
        };
        values.push(value.map_err(|error| fault(error.to_string()))?);
    }
    Ok(Row::new(names, values))
}
