//! The attacks on the separation of tenants, and on the limits of a key: one table with a row each.
//!
//! Each attack is a kind of failure that was published of other gateways, of MCP servers or of their
//! foundations. A row names the tests that carry it out. Tests of nothing else are in this folder, others
//! beside the part that they test.

mod access;
mod access_passes;
mod answers;
mod caches;
mod completion;
mod cursors;
mod database;
mod definers;
mod indexed;
mod interleaved;
mod links;
mod many_principals;
mod naming;
mod near_symbols;
mod passes;
mod permissions;
mod projects;
mod repository;
mod schema;
mod search_index;
mod refusals;
mod vectors;
mod writes;

use std::{collections::BTreeSet, fs, path::Path};

/// An attack.
struct Attack {
    name: &'static str,
    /// The kind of published failure.
    published: &'static str,
    /// The tests that carry it out: a file of the workspace and a test in it.
    tests: &'static [(&'static str, &'static str)],
}

const fn attack(
    name: &'static str,
    published: &'static str,
    tests: &'static [(&'static str, &'static str)],
) -> Attack {
    Attack {
        name,
        published,
        tests,
    }
}

#[rustfmt::skip]
const ATTACKS: [Attack; 32] = [
    attack("private repository of a host that does not let the caller read it", "a mirror that shows more than its source (CWE-863)", &[
        ("tests/it/isolation/permissions.rs", "who_cannot_read_it_at_the_host_never_sees_it"),
        ("tests/it/isolation/permissions.rs", "who_lost_it_at_the_host_finds_nothing_of_it"),
        ("tests/it/isolation/permissions.rs", "a_cursor_over_all_projects_shows_nothing_that_the_host_took"),
        ("tests/it/isolation/access_passes.rs", "a_pass_that_says_nothing_of_hosts_shows_nothing_that_they_guard"),
        ("tests/it/isolation/permissions.rs", "an_account_is_who_has_the_login_now"),
        ("tests/it/isolation/permissions.rs", "an_answer_counts_for_the_grace_of_its_connection_alone"),
        ("tests/it/isolation/permissions.rs", "rules_and_the_host_both_have_to_give_it"),
        ("tests/it/isolation/permissions.rs", "what_becomes_private_is_out_of_sight_within_a_second"),
    ]),
    attack("project of the own tenant that no access rule gives", "broken access control between members of one tenant (OWASP A01, CWE-862)", &[
        ("tests/it/isolation/access.rs", "what_no_rule_gives_is_hidden_from_who_never_had_it"),
        ("tests/it/isolation/access.rs", "what_a_rule_denies_is_hidden_from_who_had_it_and_cursors_end"),
        ("tests/it/isolation/access.rs", "a_project_is_there_for_the_families_that_rules_give_alone"),
        ("tests/it/isolation/access.rs", "tokens_get_what_their_groups_and_subjects_get"),
        ("tests/it/isolation/access.rs", "a_change_of_rules_is_in_force_at_each_gateway"),
        ("tests/it/isolation/many_principals.rs", "each_of_many_keys_sees_what_a_plain_model_of_the_rules_gives_it"),
        ("tests/it/isolation/indexed.rs", "no_search_finds_files_or_notes_of_a_project_that_rules_hide"),
    ]),
    attack("session id of another tenant", "session hijacking: MCP servers that took an id for a credential (CWE-384)", &[
        ("tests/it/sessions.rs", "a_forged_or_foreign_handle_is_not_found"),
        ("tests/it/isolation/interleaved.rs", "no_planted_word_reaches_another_caller_a_log_or_a_metric"),
    ]),
    attack("re-initialise, relabel or rotate to reset limits", "limits per session instead of per caller (CWE-799)", &[
        ("tests/it/limits.rs", "new_sessions_and_labels_and_keys_rotated_buy_nothing"),
    ]),
    attack("id collisions across responses", "one transport for several clients: answers matched by JSON-RPC id alone (MCP SDKs)", &[
        ("tests/it/isolation/answers.rs", "concurrent_calls_of_one_id_and_label_each_get_their_own_answer"),
        ("tests/it/isolation/answers.rs", "writes_of_one_idempotency_key_are_each_tenants_own"),
        ("tests/it/isolation/answers.rs", "sessions_of_one_label_are_each_tenants_own"),
    ]),
    attack("default tenant", "a tenant assumed where none is stated (CWE-1188)", &[
        ("tests/it/isolation/naming.rs", "without_a_credential_there_is_no_tenant_not_even_the_only_one"),
        ("tests/it/isolation/naming.rs", "a_tenant_or_key_without_projects_gets_none_by_default"),
        ("tests/it/isolation/projects.rs", "a_narrowed_key_sees_its_projects_only"),
    ]),
    attack("header, address or cookie that names a tenant", "trust in X-Tenant-Id and its like (CWE-290)", &[
        ("tests/it/isolation/naming.rs", "a_tenant_named_in_a_header_is_ignored"),
        ("tests/it/isolation/naming.rs", "a_tenant_in_the_url_is_not_found_or_ignored"),
    ]),
    attack("argument or _meta that names a tenant", "object ids taken from the caller (OWASP API1, CWE-639)", &[
        ("tests/it/isolation/naming.rs", "a_tenant_named_in_meta_is_ignored"),
        ("tests/it/isolation/naming.rs", "an_argument_that_names_a_tenant_is_refused_even_if_it_exists"),
        ("tests/it/isolation/projects.rs", "a_slug_is_no_path"),
    ]),
    attack("direct call of a worker without a pass", "a back end that trusts its network (CWE-306)", &[
        ("tests/it/isolation/passes.rs", "a_worker_accepts_only_a_fresh_pass_of_its_gateways_for_its_pool"),
    ]),
    attack("stale pass", "a token checked once and cached for good (CWE-613)", &[
        ("tests/it/isolation/passes.rs", "a_once_accepted_pass_is_refused_when_it_expires"),
    ]),
    attack("pass of a foreign key, changed, unsigned, or of another algorithm", "JWT: alg none, key confusion (CWE-347)", &[
        ("tests/it/isolation/passes.rs", "a_pass_of_a_foreign_key_is_refused_whatever_it_claims"),
        ("tests/it/isolation/passes.rs", "a_worker_accepts_only_a_fresh_pass_of_its_gateways_for_its_pool"),
    ]),
    attack("pass for another pool or audience", "token passthrough, the confused deputy (MCP's security best practices)", &[
        ("tests/it/isolation/passes.rs", "a_worker_accepts_only_a_fresh_pass_of_its_gateways_for_its_pool"),
        ("tests/it/isolation/passes.rs", "a_pass_for_calls_shows_no_catalogue"),
        ("tests/it/isolation/passes.rs", "a_pass_decides_the_tenant_whatever_the_request_claims"),
    ]),
    attack("stolen pass of lesser rights", "scopes that only the front end checks (OWASP API5, CWE-862)", &[
        ("tests/it/isolation/passes.rs", "a_pass_buys_at_a_worker_no_more_than_its_owner_may"),
        ("tests/it/isolation/access_passes.rs", "a_pass_with_rules_that_do_not_hold_shows_nothing_they_gave"),
        ("tests/it/isolation/access_passes.rs", "a_holder_cannot_add_a_rule_to_a_pass"),
    ]),
    attack("cache keys without a tenant", "organisations shown each other's data by a hosted MCP server (CWE-524)", &[
        ("tests/it/isolation/caches.rs", "caches_of_a_commit_never_serve_another_tenant_with_the_same_commit"),
        ("tests/it/isolation/caches.rs", "uncommitted_content_of_the_same_commit_stays_with_its_tenant"),
        ("tests/it/isolation/projects.rs", "projects_of_one_name_are_two_projects"),
        ("tests/it/architecture/ownership.rs", "another_tenants_documents_are_never_found_under_equal_slugs"),
    ]),
    attack("counts and near names of a shared search index", "an index over all repositories, filtered after the look-up (CWE-203, CWE-1230)", &[
        ("tests/it/isolation/search_index.rs", "a_foreign_or_closed_word_is_searched_for_as_one_that_nobody_has"),
        ("tests/it/isolation/search_index.rs", "a_misspelt_path_is_never_answered_with_a_foreign_or_closed_name"),
        ("tests/it/isolation/near_symbols.rs", "no_hint_names_a_symbol_that_the_caller_may_not_read"),
        ("tests/it/isolation/indexed.rs", "no_search_finds_files_or_notes_of_a_project_that_rules_hide"),
    ]),
    attack("find_symbol, find_references and outline of code that the caller may not read", "code navigation by one index of all repositories (CWE-862, CWE-1230)", &[
        ("tests/it/isolation/near_symbols.rs", "no_hint_names_a_symbol_that_the_caller_may_not_read"),
        ("tests/it/isolation/caches.rs", "caches_of_a_commit_never_serve_another_tenant_with_the_same_commit"),
        ("tests/it/isolation/cursors.rs", "every_cursor_from_before_a_loss_is_refused"),
        ("tests/it/isolation/refusals.rs", "every_tool_refuses_a_foreign_project_as_an_unknown_one"),
    ]),
    attack("a shared cache of queries", "prompts and embeddings revealed by the time of a cache hit (CWE-208)", &[
        ("tests/it/isolation/caches.rs", "a_querys_vector_is_computed_and_cached_per_tenant"),
    ]),
    attack("cursor of another tenant, tool or project", "opaque is not secret: cursors that hold the query (CWE-639)", &[
        ("tests/it/isolation/projects.rs", "a_cursor_is_good_for_its_tenant_tool_and_arguments_only"),
        ("tests/it/isolation/projects.rs", "a_cursor_of_another_project_is_refused"),
        ("tests/it/isolation/cursors.rs", "every_cursor_from_before_a_loss_is_refused"),
    ]),
    attack("another session's workflow", "state of agents stored under a guessable name (CWE-488)", &[
        ("tests/it/workflow.rs", "a_workflow_is_its_sessions_own"),
        ("tests/it/workflow.rs", "a_workflow_is_returned_to_a_key_that_may_still_read_it"),
    ]),
    attack("vector search without a filter", "OWASP LLM08: vectors of all tenants in one collection", &[
        ("tests/it/isolation/vectors.rs", "every_request_for_chunks_over_the_wire_demands_the_tenant_of_the_call"),
        ("tests/it/vector_stores/qdrant.rs", "tenants_of_one_qdrant_find_their_own_alone"),
        ("workers/index/src/vector_store/tests/tenant_scope.rs", "requests_for_chunks_are_built_in_one_file_only"),
    ]),
    attack("SQL without a tenant", "a forgotten where clause; agents' queries run as a role that bypasses row-level security", &[
        ("tests/it/isolation/schema.rs", "every_table_but_those_that_are_nobodys_has_a_tenant_and_is_fenced"),
        ("tests/it/isolation/schema.rs", "a_query_sees_rows_of_its_stated_tenant_only_in_every_table"),
        ("tests/it/isolation/schema.rs", "the_tenant_stated_in_a_transaction_ends_with_it"),
        ("tests/it/isolation/writes.rs", "no_role_adds_a_row_of_a_tenant_that_it_does_not_state_to_any_table"),
        ("tests/it/isolation/writes.rs", "no_role_changes_deletes_or_takes_a_row_of_an_unstated_tenant"),
        ("tests/it/isolation/database.rs", "the_runtime_roles_see_no_row_of_any_tenant_but_the_one_they_state"),
        ("tests/it/isolation/database.rs", "a_role_can_neither_read_nor_write_unrelated_tables"),
    ]),
    attack("functions with their owner's rights", "SECURITY DEFINER and a search_path that callers choose (CVE-2018-1058)", &[
        ("tests/it/isolation/schema.rs", "only_listed_functions_bypass_row_security_and_all_fix_search_path"),
    ]),
    attack("symlinks from one mount into another", "MCP file servers that compared prefixes or followed links (CVE-2025-53109, -53110)", &[
        ("tests/it/isolation/links.rs", "links_into_another_mount_lead_nowhere_even_through_git_files"),
        ("tests/it/isolation/projects.rs", "a_link_into_another_tenants_folder_leads_nowhere"),
        ("tests/it/paths/links.rs", "a_link_swapped_during_calls_never_shows_outside_content"),
    ]),
    attack("git's own files: gitdir, alternates, commondir, worktrees", "git reading objects through links (CVE-2022-39253)", &[
        ("tests/it/isolation/links.rs", "links_into_another_mount_lead_nowhere_even_through_git_files"),
        ("tests/it/mounts.rs", "a_git_folder_that_lies_elsewhere_is_no_git_folder"),
        ("tests/it/mounts.rs", "borrowed_objects_from_elsewhere_are_not_read"),
    ]),
    attack("a repository's configuration runs commands", "core.fsmonitor and its like (CVE-2022-24765)", &[
        ("tests/it/mounts.rs", "nothing_that_a_repositorys_configuration_names_is_run"),
    ]),
    attack("texts of errors that reveal existence", "different answers for foreign and for missing objects (CWE-204)", &[
        ("tests/it/isolation/refusals.rs", "every_tool_refuses_a_foreign_project_as_an_unknown_one"),
        ("tests/it/isolation/completion.rs", "what_rules_hide_is_completed_as_what_does_not_exist"),
        ("tests/it/resources/callers.rs", "a_closed_resource_is_refused_by_name_whether_it_exists_or_not"),
        ("tests/it/audit/path_rules.rs", "each_tool_that_refuses_a_path_records_the_rule_and_never_says_it"),
        ("tests/it/prompts/callers.rs", "prompts_of_other_projects_are_named_by_slug_within_the_tenant"),
        ("tests/it/credentials.rs", "every_bad_key_gets_the_same_answer"),
    ]),
    attack("times that reveal existence", "one more look-up for what exists (CWE-208)", &[
        ("tests/it/isolation/refusals.rs", "foreign_and_unknown_projects_are_refused_alike_in_text_and_time"),
        ("tests/it/isolation/refusals.rs", "the_time_to_refuse_a_bad_key_does_not_reveal_a_known_id"),
    ]),
    attack("a repository's .archway.toml", "settings stored with the code that they should bind (CWE-15)", &[
        ("tests/it/isolation/repository.rs", "a_link_to_another_tenants_project_is_as_one_to_nothing"),
        ("tests/it/isolation/repository.rs", "folders_and_globs_of_a_manifest_end_at_its_own_root"),
        ("tests/it/paths/manifest.rs", "a_manifest_widens_read_repo_file_but_opens_no_blocked_path"),
        ("tests/it/context/linked.rs", "a_key_gets_nothing_of_linked_projects_that_it_may_not_read"),
    ]),
    attack("a repository's prompts", "templates expanded with more rights than their author's (CWE-1336)", &[
        ("tests/it/isolation/repository.rs", "a_prompt_cannot_include_documents_of_another_tenant"),
        ("tests/it/isolation/repository.rs", "a_prompt_opens_nothing_that_is_shut_and_runs_nothing_that_it_is_given"),
        ("tests/it/prompts/callers.rs", "a_tool_that_the_caller_may_not_call_is_as_unknown"),
    ]),
    attack("a repository's rules", "rules as programs: included files, catastrophic regexes (CWE-1333)", &[
        ("tests/it/isolation/repository.rs", "rules_of_a_document_read_no_file_and_no_other_document"),
        ("tests/it/architecture/validate/bounds.rs", "hostile_rules_end_in_time_say_so_and_leave_the_worker_alive"),
    ]),
    attack("revoked, unreachable or closed content", "dangling commits that a host still serves", &[
        ("tests/it/history/hidden.rs", "a_blocked_name_and_its_content_are_in_no_answer"),
        ("tests/it/isolation/interleaved.rs", "no_planted_word_reaches_another_caller_a_log_or_a_metric"),
    ]),
    attack("anything, at random, of two tenants at once", "unforeseen leaks; secrets in logs and metrics (CWE-532)", &[
        ("tests/it/isolation/interleaved.rs", "no_planted_word_reaches_another_caller_a_log_or_a_metric"),
    ]),
];

#[test]
fn every_attack_names_tests_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let names: BTreeSet<&str> = ATTACKS.iter().map(|attack| attack.name).collect();
    assert_eq!(names.len(), ATTACKS.len(), "one row for each attack");
    let mut missing = Vec::new();
    for attack in &ATTACKS {
        assert!(
            !attack.published.is_empty() && !attack.tests.is_empty(),
            "{}",
            attack.name
        );
        for (file, test) in attack.tests {
            let text = fs::read_to_string(root.join(file)).unwrap_or_default();
            let is_a_test = ["test]\nasync fn ", "\")]\nasync fn ", "test]\nfn "]
                .iter()
                .any(|begin| text.contains(&format!("{begin}{test}()")));
            if !is_a_test {
                missing.push(format!("{}: {file} has no test {test}", attack.name));
            }
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}
