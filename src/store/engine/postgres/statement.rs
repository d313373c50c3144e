//! One statement on one connection: prepared there, or sent as text each time.
//!
//! Behind a pooler in transaction mode the next transaction may meet another connection to the server, which knows
//! nothing of what was prepared on the last. There every execution brings its text along, under no name, and says the types of
//! its values: still one trip, and the server plans it anew.

use futures_util::TryStreamExt;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Row};

use super::errors::fault;
use crate::store::StoreError;
use crate::store::engine::sql::{Column, Dialect, Sql};
use crate::store::engine::value::Value;

type Parameter<'a> = &'a (dyn ToSql + Sync);

pub(super) enum Statement {
    Prepared(tokio_postgres::Statement),
    Text(String),
}

/// What stands in a statement's places.
pub(super) enum Given<'a> {
    Values(&'a [Value]),
    /// One array per column.
    Arrays(&'a [Box<dyn ToSql + Sync + Send>], &'a [(&'static str, Column)]),
}

impl Statement {
    /// `array` asks for its many-rows form, if it has one.
    pub(super) async fn new(
        client: &Client,
        is_pooled: bool,
        sql: &Sql,
        array: bool,
    ) -> Result<Statement, tokio_postgres::Error> {
        let text = match sql.render_arrays() {
            Some(text) if array => text,
            _ => sql.render(Dialect::Postgres),
        };
        Ok(if is_pooled { Statement::Text(text) } else { Statement::Prepared(client.prepare(&text).await?) })
    }

    /// A wrong number of parameters must be told as what it is, not as a broken connection. Of a text only the server
    /// can count the places.
    pub(super) fn check_count(&self, sql: &Sql, params: &[Value]) -> Result<(), StoreError> {
        let Statement::Prepared(statement) = self else { return Ok(()) };
        let wanted = statement.params().len();
        if wanted == params.len() {
            return Ok(());
        }
        Err(fault(sql.name, format_args!("{} parameters where {wanted} belong", params.len())))
    }

    pub(super) async fn query(
        &self,
        client: &Client,
        given: &Given<'_>,
    ) -> Result<Vec<Row>, tokio_postgres::Error> {
        match self {
            Statement::Prepared(statement) => {
                client.query_raw(statement, given.parameters()).await?.try_collect().await
            }
            Statement::Text(text) => client.query_typed(text, &given.typed()).await,
        }
    }

    /// How many rows it touched.
    pub(super) async fn execute(
        &self,
        client: &Client,
        given: &Given<'_>,
    ) -> Result<u64, tokio_postgres::Error> {
        match self {
            Statement::Prepared(statement) => client.execute_raw(statement, given.parameters()).await,
            Statement::Text(text) => client.execute_typed(text, &given.typed()).await,
        }
    }
}

impl<'a> Given<'a> {
    fn parameters(&self) -> Vec<Parameter<'a>> {
        match *self {
            Given::Values(values) => values.iter().map(|value| value as Parameter<'a>).collect(),
            Given::Arrays(arrays, _) => arrays.iter().map(|array| array.as_ref() as Parameter<'a>).collect(),
        }
    }

    fn typed(&self) -> Vec<(Parameter<'a>, Type)> {
        let types: Vec<Type> = match *self {
            Given::Values(values) => values.iter().map(type_of).collect(),
            Given::Arrays(_, columns) => columns.iter().map(|(_, column)| array_type_of(*column)).collect(),
        };
        self.parameters().into_iter().zip(types).collect()
    }
}

fn type_of(value: &Value) -> Type {
    match value {
        Value::Int(_) => Type::INT8,
        Value::Text(_) => Type::TEXT,
        Value::Bytes(_) => Type::BYTEA,
        // The server takes the type of its place.
        Value::Null => Type::UNKNOWN,
    }
}

fn array_type_of(column: Column) -> Type {
    match column {
        Column::Int => Type::INT8_ARRAY,
        Column::Text => Type::TEXT_ARRAY,
        Column::Bytes => Type::BYTEA_ARRAY,
    }
}
