//! Where parameters and local variables begin: the places of patterns in all grammars.

use crate::path::Path;

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
