//! The maxima of evidence over all decisions, which put one decision's evidence in relation.

use crate::alignment::evidence::Evidence;

/// The maxima of each kind of evidence over all decisions; the two highest values for some.
#[derive(Debug, Default)]
pub(in crate::alignment) struct Maxima {
    pub(super) title: f32,
    pub(super) technical: f32,
    pub(super) nearest: f32,
    pub(super) similarity: f32,
    pub(super) total: [f32; 2],
    pub(super) decided: [f32; 2],
}

impl Maxima {
    pub(in crate::alignment) fn of(all: &[Evidence]) -> Maxima {
        let maximum = |of: fn(&Evidence) -> f32| all.iter().map(of).fold(0.0, f32::max);
        let top_two = |of: fn(&Evidence) -> f32| {
            let raise = |[maximum, second]: [f32; 2], score: f32| match score > maximum {
                true => [score, maximum],
                false => [maximum, second.max(score)],
            };
            all.iter().map(of).fold([0.0; 2], raise)
        };
        Maxima {
            title: maximum(|evidence| evidence.title),
            technical: maximum(|evidence| evidence.technical),
            nearest: maximum(|evidence| evidence.semantic.nearest()),
            similarity: maximum(|evidence| evidence.semantic.similarity),
            total: top_two(|evidence| evidence.semantic.total),
            decided: top_two(|evidence| evidence.semantic.decided()),
        }
    }
}
