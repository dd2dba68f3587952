//! Administration of access rules: who may use which projects and tool families of a tenant.
//!
//! A rule is never changed: passes name rules by their ids. A trigger counts each change, and notifies every gateway.

use archway_proto::access::{
    AccessRule, AccessTextError, MAX_FAMILIES, MAX_PROJECTS, MAX_RULES, MAX_WHO, ProjectPattern,
    Who,
};
use uuid::Uuid;

use super::error::query;
use super::{TenantError, TenantsTx};

/// Why a rule is refused.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    /// One of its texts is neither a principal nor a project.
    #[error(transparent)]
    Text(#[from] AccessTextError),
    /// It names none, or too many.
    #[error("a rule names 1 to {most} {what}, not {count}")]
    Count {
        /// `principals`, `projects` or `families`.
        what: &'static str,
        /// The bound.
        most: usize,
        /// How many there are.
        count: usize,
    },
    /// The tenant has as many rules as it may have.
    #[error("a tenant has at most {MAX_RULES} access rules: combine rules with the same projects")]
    TooMany,
}

/// What a rule says, without its id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessTerms {
    /// Whom it is about.
    pub who: Vec<Who>,
    /// The projects that it is about.
    pub projects: Vec<ProjectPattern>,
    /// The tool families that it is about; `None` for all.
    pub families: Option<Vec<String>>,
    /// Whether it denies.
    pub deny: bool,
}

impl AccessTerms {
    /// What a rule says.
    pub fn of(rule: AccessRule) -> AccessTerms {
        AccessTerms {
            who: rule.who,
            projects: rule.projects,
            families: rule.families,
            deny: rule.deny,
        }
    }

    /// The slugs that it names and that are not among these.
    pub fn unknown_slugs(&self, slugs: &[String]) -> Vec<&String> {
        let named = self.projects.iter().filter_map(|pattern| match pattern {
            ProjectPattern::Slug(slug) if !slug.contains(['*', '?']) => Some(slug),
            ProjectPattern::Slug(_) | ProjectPattern::Topic(_) => None,
        });
        named.filter(|named| !slugs.contains(named)).collect()
    }

    /// The labels that it names and that are not among these.
    pub fn unknown_labels(&self, labels: &[String]) -> Vec<&String> {
        let named = self.who.iter().filter_map(|who| match who {
            Who::Key(label) => Some(label),
            Who::Everyone | Who::Group(_) | Who::Subject { .. } => None,
        });
        named.filter(|named| !labels.contains(named)).collect()
    }

    /// Reads the texts of a rule. Families are not checked.
    ///
    /// # Errors
    /// [`AccessError`].
    pub fn read(
        who: &[String],
        projects: &[String],
        families: Option<&[String]>,
        deny: bool,
    ) -> Result<AccessTerms, AccessError> {
        check_count("principals", MAX_WHO, who.len())?;
        check_count("projects", MAX_PROJECTS, projects.len())?;
        if let Some(families) = families {
            check_count("families", MAX_FAMILIES, families.len())?;
        }
        let who = who.iter().map(|text| Who::try_from(text.clone()));
        let projects = projects
            .iter()
            .map(|text| ProjectPattern::try_from(text.clone()));
        Ok(AccessTerms {
            who: who.collect::<Result<_, _>>()?,
            projects: projects.collect::<Result<_, _>>()?,
            families: families.map(<[String]>::to_vec),
            deny,
        })
    }

    /// Whether a rule says this.
    pub fn is(&self, rule: &AccessRule) -> bool {
        (&self.who, &self.projects, &self.families, self.deny)
            == (&rule.who, &rule.projects, &rule.families, rule.deny)
    }
}

fn check_count(what: &'static str, most: usize, count: usize) -> Result<(), AccessError> {
    match (1..=most).contains(&count) {
        true => Ok(()),
        false => Err(AccessError::Count { what, most, count }),
    }
}

impl TenantsTx {
    /// The access rules of a tenant, by id.
    ///
    /// # Errors
    /// If Postgres does not answer.
    pub async fn access_rules(&mut self, tenant: Uuid) -> Result<Vec<AccessRule>, TenantError> {
        let rows = sqlx::query!(
            "select id, who, projects, families, deny from access_rules where tenant_id = $1 order by id",
            tenant
        )
        .fetch_all(&mut *self.tx)
        .await
        .map_err(query("list access rules"))?;
        let rule = |id, terms: AccessTerms| AccessRule {
            id,
            who: terms.who,
            projects: terms.projects,
            families: terms.families,
            deny: terms.deny,
        };
        let rules = rows.into_iter().map(|row| {
            let terms =
                AccessTerms::read(&row.who, &row.projects, row.families.as_deref(), row.deny)?;
            Ok(rule(row.id, terms))
        });
        rules.collect()
    }

    /// Adds a rule. Returns its id.
    ///
    /// # Errors
    /// [`TenantError::Access`] if the tenant has too many.
    pub async fn add_access_rule(
        &mut self,
        tenant: Uuid,
        terms: &AccessTerms,
    ) -> Result<i64, TenantError> {
        let count = sqlx::query_scalar!(
            r#"select count(*) as "count!" from access_rules where tenant_id = $1"#,
            tenant
        );
        let count = count.fetch_one(&mut *self.tx).await;
        let count = count.map_err(query("count access rules"))?;
        if usize::try_from(count).unwrap_or(MAX_RULES) >= MAX_RULES {
            return Err(AccessError::TooMany.into());
        }
        let who: Vec<String> = terms.who.iter().map(Who::to_string).collect();
        let projects: Vec<String> = terms
            .projects
            .iter()
            .map(ProjectPattern::to_string)
            .collect();
        sqlx::query_scalar!(
            "insert into access_rules (tenant_id, who, projects, families, deny) \
             values ($1, $2, $3, $4, $5) returning id",
            tenant,
            &who,
            &projects,
            terms.families.as_deref(),
            terms.deny
        )
        .fetch_one(&mut *self.tx)
        .await
        .map_err(query("add an access rule"))
    }

    /// Removes a rule.
    ///
    /// # Errors
    /// [`TenantError::Missing`].
    pub async fn remove_access_rule(&mut self, tenant: Uuid, id: i64) -> Result<(), TenantError> {
        let removed = sqlx::query!(
            "delete from access_rules where tenant_id = $1 and id = $2",
            tenant,
            id
        )
        .execute(&mut *self.tx)
        .await
        .map_err(query("remove an access rule"))?;
        match removed.rows_affected() {
            0 => Err(self.missing("access rule", id.to_string())),
            _ => Ok(()),
        }
    }

    /// The topics that hosts give a tenant's projects, by slug. Projects without topics are left out.
    ///
    /// # Errors
    /// If Postgres does not answer.
    pub async fn project_topics(
        &mut self,
        tenant: Uuid,
    ) -> Result<std::collections::BTreeMap<String, Vec<String>>, TenantError> {
        let rows = sqlx::query!(
            "select p.slug, s.topics from projects p join sources s on s.project_id = p.id \
             where p.tenant_id = $1 and cardinality(s.topics) > 0",
            tenant
        )
        .fetch_all(&mut *self.tx)
        .await
        .map_err(query("list topics"))?;
        Ok(rows.into_iter().map(|row| (row.slug, row.topics)).collect())
    }
}
