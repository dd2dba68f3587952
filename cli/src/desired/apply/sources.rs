//! Where projects' repositories come from: sources that the desired state names, and connections.

use std::collections::BTreeMap;

use archway_sync::hosts::ConnectionSettings;
use uuid::Uuid;

use super::Applier;
use crate::desired::compare::differing_source;
use crate::desired::field_change::FieldChange;
use crate::desired::{DesiredSource, ReconcileError};
use crate::tenants::{ConnectionRow, SourceRow, TenantError};

impl Applier<'_> {
    /// Sets the source of a project. Returns what that changed.
    pub(super) async fn source(
        &mut self,
        which: (Uuid, Uuid),
        desired: &DesiredSource,
        current: Option<&SourceRow>,
    ) -> Result<Option<FieldChange>, TenantError> {
        let is_named = current.is_some_and(|current| current.connection.is_none());
        match desired {
            DesiredSource::Mirror(source) if current.is_some_and(|it| it.is(source)) => Ok(None),
            DesiredSource::Mirror(source) => {
                self.tx.set_source(which, source).await?;
                Ok(Some(differing_source(current, Some(source))))
            }
            DesiredSource::Folder if is_named => {
                self.tx.remove_source(which.1).await?;
                Ok(Some(differing_source(current, None)))
            }
            DesiredSource::Folder | DesiredSource::Unchanged => Ok(None),
        }
    }

    /// Sets the connections of a tenant.
    pub(super) async fn connections(
        &mut self,
        tenant: Uuid,
        slug: &str,
        desired: &[ConnectionSettings],
    ) -> Result<(), ReconcileError> {
        let current = self.tx.connections(tenant).await?.into_iter();
        let mut current: BTreeMap<String, ConnectionRow> =
            current.map(|row| (row.name.clone(), row)).collect();
        for settings in desired {
            let name = format!("{slug}/{}", settings.name);
            let old = current.remove(&settings.name);
            if old.as_ref().is_some_and(|old| old.is(settings)) {
                self.report.add_comparison("connection", &name, Vec::new());
                continue;
            }
            self.tx.set_connection(tenant, settings).await?;
            let Some(old) = old else {
                self.report.add_action("created", "connection", &name);
                continue;
            };
            let settings = serde_json::to_value(settings).unwrap_or_default();
            let change = FieldChange::of_members("settings", &old.settings, &settings);
            self.report
                .add_comparison("connection", &name, change.into_iter().collect());
        }
        if self.prune.is_some() {
            for other in current.into_keys() {
                self.tx.remove_connection(tenant, &other).await?;
                let name = format!("{slug}/{other}");
                self.report.add_action("removed", "connection", &name);
            }
        }
        Ok(())
    }
}
