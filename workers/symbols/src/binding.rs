//! Where parameters and local variables begin: the places of patterns in all grammars.

use archway_repo::syntax::Language;

use crate::{
    naming::row,
    path::{Path, Step},
};

/// Deepest nesting of a name in a pattern.
const MAX_DEPTH: usize = 8;

/// Whether a parameter or a local variable begins here.
pub(crate) fn is_binding(path: Path<'_, '_>) -> bool {
    let mut at = path;
    for _ in 0..MAX_DEPTH {
        let is_inside = match at.place() {
            (
                "tuple_pattern"
                | "mut_pattern"
                | "ref_pattern"
                | "reference_pattern"
                | "slice_pattern"
                | "array_pattern"
                | "object_pattern"
                | "rest_pattern"
                | "pattern_list"
                | "list_splat_pattern"
                | "dictionary_splat_pattern"
                | "captured_pattern"
                | "destructured_parameter"
                | "destructured_left_assignment",
                _,
            ) => true,
            ("assignment_pattern" | "object_assignment_pattern", "left") => true,
            ("pair_pattern", "value") => true,
            ("tuple_struct_pattern" | "struct_pattern", field) => field != "type",
            ("field_pattern", field) => field != "type",
            (
                "pointer_declarator"
                | "array_declarator"
                | "reference_declarator"
                | "function_declarator"
                | "init_declarator",
                field,
            ) => matches!(field, "declarator" | ""),
            ("expression_list", _) => true,
            _ => false,
        };
        if !is_inside {
            break;
        }
        at = at.up();
    }
    binds(at.place())
}

/// The places of patterns that bind, by the field: in nodes of these kinds.
const BINDING: [(&str, &[&str]); 7] = [
    (
        "pattern",
        &[
            "parameter",
            "let_declaration",
            "let_condition",
            "for_expression",
            "match_pattern",
            "required_parameter",
            "optional_parameter",
        ],
    ),
    (
        "name",
        &[
            "parameter",
            "variable_declarator",
            "default_parameter",
            "typed_default_parameter",
            "parameter_declaration",
            "variadic_parameter_declaration",
            "var_spec",
            "const_spec",
            "formal_parameter",
            "catch_formal_parameter",
            "enhanced_for_statement",
            "resource",
            "optional_parameter",
            "keyword_parameter",
            "splat_parameter",
            "hash_splat_parameter",
            "block_parameter",
            "type_parameter",
            "declaration_expression",
            "catch_declaration",
            // The name of an expression is visible inside of it alone.
            "function_expression",
            "generator_function",
            "class",
        ],
    ),
    (
        "left",
        &[
            "for_statement",
            "for_in_statement",
            "for_in_clause",
            "short_var_declaration",
            "range_clause",
            "foreach_statement",
        ],
    ),
    (
        "declarator",
        &[
            "parameter_declaration",
            "optional_parameter_declaration",
            "declaration",
            "for_range_loop",
        ],
    ),
    ("parameter", &["arrow_function", "catch_clause"]),
    ("parameters", &["lambda_expression"]),
    (
        "",
        &[
            "closure_parameters",
            "formal_parameters",
            "parameters",
            "lambda_parameters",
            "typed_parameter",
            "as_pattern_target",
            "inferred_parameters",
            "method_parameters",
            "block_parameters",
            "type_parameters",
            "implicit_parameter",
            "match_pattern",
        ],
    ),
];

fn binds((parent, field): (&str, &str)) -> bool {
    let mut places = BINDING.iter();
    places.any(|(of, parents)| *of == field && parents.contains(&parent))
}

/// The last line in which a local that begins here is visible; 0 if nothing is around it.
pub(crate) fn last_line(language: Language, path: Path<'_, '_>) -> u32 {
    let is_of_function = is_of_function(language, path.up().up().kind());
    let mut around = path.0.iter().rev().skip(1);
    let scope = around.find(|step| {
        let is_block = match language {
            Language::Ruby => step.kind == "block",
            _ => !is_of_function && BLOCKS.contains(&step.kind),
        };
        is_block || FUNCTIONS.contains(&step.kind)
    });
    scope.map_or(0, |scope| row(scope.node.end_position().row))
}

/// The lines of the function or block with a definition in it that is no member: its bare name is
/// visible there alone. `above` are the nodes around the declaring one. `None` if there is none, and
/// in languages whose definitions are visible everywhere.
pub(crate) fn visible(language: Language, above: &[Step<'_>]) -> Option<(u32, u32)> {
    let is_everywhere = matches!(language, Language::Ruby | Language::Php)
        || above.iter().any(|step| step.kind == "ambient_declaration");
    if is_everywhere {
        return None;
    }
    let is_of_function = is_of_function(language, above.last().map_or("", |step| step.kind));
    let scope = above.iter().rev().find(|step| {
        let is_block = !is_of_function && BLOCKS.contains(&step.kind);
        // The parameters of a template are in its node, and so is what it declares.
        is_block || FUNCTIONS.contains(&step.kind) && step.kind != "template_declaration"
    })?;
    let node = scope.node;
    Some((row(node.start_position().row), row(node.end_position().row)))
}

/// Whether a variable is visible in the whole function around, whatever the block.
fn is_of_function(language: Language, statement: &str) -> bool {
    matches!(language, Language::Python | Language::Ruby)
        || statement == "variable_declaration" && is_script(language)
}

fn is_script(language: Language) -> bool {
    use Language::{JavaScript, Tsx, TypeScript};
    matches!(language, JavaScript | TypeScript | Tsx)
}

/// Nodes with parameters, of values or types.
const FUNCTIONS: [&str; 49] = [
    "abstract_class_declaration",
    "abstract_method_signature",
    "anonymous_function",
    "anonymous_method_expression",
    "arrow_function",
    "call_signature",
    "class",
    "class_declaration",
    "closure_expression",
    "construct_signature",
    "constructor_declaration",
    "constructor_type",
    "dictionary_comprehension",
    "do_block",
    "enum_item",
    "func_literal",
    "function_declaration",
    "function_definition",
    "function_expression",
    "function_item",
    "function_signature",
    "function_signature_item",
    "function_type",
    "generator_expression",
    "generator_function",
    "generator_function_declaration",
    "impl_item",
    "interface_declaration",
    "lambda",
    "lambda_expression",
    "list_comprehension",
    "local_function_statement",
    "method",
    "method_declaration",
    "method_definition",
    "method_elem",
    "method_signature",
    "record_declaration",
    "set_comprehension",
    "singleton_method",
    "struct_declaration",
    "struct_item",
    "template_declaration",
    "trait_item",
    "type_alias_declaration",
    "type_item",
    "type_spec",
    "union_item",
    "compact_constructor_declaration",
];

/// Nodes with local variables, in languages whose blocks have some.
const BLOCKS: [&str; 21] = [
    "block",
    "catch_clause",
    "compound_statement",
    "constructor_body",
    "enhanced_for_statement",
    "expression_switch_statement",
    "for_expression",
    "for_in_statement",
    "for_range_loop",
    "for_statement",
    "foreach_statement",
    "if_expression",
    "if_statement",
    "match_arm",
    "statement_block",
    "switch_block",
    "try_with_resources_statement",
    "type_switch_statement",
    "using_statement",
    "while_expression",
    "while_statement",
];
