//! What was kept is there, once, until it is replaced or removed.

use super::{Home, Piece, Text, ask, blob, found, keep, piece, question, shelf, text};

pub(crate) async fn what_is_kept_twice_is_there_once(home: &dyn Home) {
    let mine = shelf(1, 1);
    let texts = [text(1, vec![piece(0.0, &[(1, 1)]), piece(9.0, &[(2, 1)])])];
    keep(home, mine, &texts).await;
    let first = ask(home, mine, &question(&[2])).await;
    keep(home, mine, &texts).await;
    assert_eq!(home.count(mine).await.unwrap(), 2);
    let again = ask(home, mine, &question(&[2])).await;
    assert_eq!(found(&again.dense), found(&first.dense));
    assert_eq!(found(&again.sparse), found(&first.sparse));
}

pub(crate) async fn a_text_that_is_kept_anew_loses_its_former_chunks(home: &dyn Home) {
    let mine = shelf(1, 1);
    let three = vec![
        piece(0.0, &[(1, 1)]),
        piece(30.0, &[(1, 1)]),
        piece(60.0, &[(1, 1)]),
    ];
    keep(home, mine, &[text(1, three.clone()), text(2, three)]).await;
    let one = vec![piece(15.0, &[(2, 1)])];
    keep(home, mine, &[text(1, one)]).await;
    assert_eq!(home.count(mine).await.unwrap(), 4);
    let candidates = ask(home, mine, &question(&[2])).await;
    assert_eq!(found(&candidates.dense), [(2, 0), (1, 0), (2, 1), (2, 2)]);
    assert_eq!(found(&candidates.sparse), [(1, 0)]);
    let former = ask(home, mine, &question(&[1])).await.sparse;
    assert!(found(&former).iter().all(|(number, _)| *number == 2));
    let two = vec![piece(0.0, &[(3, 1)]), piece(0.0, &[(3, 1)])];
    keep(home, mine, &[text(1, two)]).await;
    assert_eq!(home.count(mine).await.unwrap(), 5, "it grew again");
}

pub(crate) async fn a_text_without_chunks_is_forgotten(home: &dyn Home) {
    let mine = shelf(1, 1);
    let one = vec![piece(0.0, &[(1, 1)])];
    keep(home, mine, &[text(1, one.clone()), text(2, one)]).await;
    keep(home, mine, &[text(1, Vec::new()), text(3, Vec::new())]).await;
    assert_eq!(
        found(&ask(home, mine, &question(&[1])).await.dense),
        [(2, 0)]
    );
    assert_eq!(home.count(mine).await.unwrap(), 1);
    keep(home, mine, &[]).await;
    assert_eq!(home.count(mine).await.unwrap(), 1);
}

pub(crate) async fn a_blob_that_is_removed_is_gone_and_no_other(home: &dyn Home) {
    let mine = shelf(1, 1);
    let two = vec![piece(0.0, &[(1, 1)]), piece(1.0, &[(1, 1)])];
    let texts = [1, 2, 3].map(|number| text(number, two.clone()));
    keep(home, mine, &texts).await;
    home.remove(mine, &[blob(1), blob(3)]).await.unwrap();
    let candidates = ask(home, mine, &question(&[1])).await;
    assert_eq!(found(&candidates.dense), [(2, 0), (2, 1)]);
    let mut by_words = found(&candidates.sparse);
    by_words.sort_unstable();
    assert_eq!(by_words, [(2, 0), (2, 1)]);
    assert_eq!(home.count(mine).await.unwrap(), 2);
}

pub(crate) async fn what_is_not_there_can_be_removed(home: &dyn Home) {
    let mine = shelf(1, 1);
    home.remove(mine, &[blob(1)]).await.unwrap();
    keep(home, mine, &[text(1, vec![piece(0.0, &[(1, 1)])])]).await;
    home.remove(mine, &[]).await.unwrap();
    home.remove(mine, &[blob(2)]).await.unwrap();
    assert_eq!(home.count(mine).await.unwrap(), 1);
}

pub(crate) async fn a_great_many_chunks_are_all_kept(home: &dyn Home) {
    let mine = shelf(1, 1);
    let long: Vec<Piece> = (0..700_u16)
        .map(|number| piece(f32::from(number) / 10.0, &[(u32::from(number), 1)]))
        .collect();
    let short = (2..500).map(|number| text(number, vec![piece(180.0, &[(9999, 1)])]));
    let texts: Vec<Text> = [text(1, long)].into_iter().chain(short).collect();
    keep(home, mine, &texts).await;
    assert_eq!(home.count(mine).await.unwrap(), 700 + 498);
    for last in [0, 255, 256, 699] {
        assert_eq!(
            found(&ask(home, mine, &question(&[last])).await.sparse),
            [(1, last)]
        );
    }
    let gone: Vec<_> = (1..499).map(blob).collect();
    home.remove(mine, &gone).await.unwrap();
    assert_eq!(home.count(mine).await.unwrap(), 1);
}

pub(crate) async fn two_who_keep_the_same_at_once_keep_it_once(home: &dyn Home) {
    let mine = shelf(1, 1);
    let texts: Vec<Text> = (1..40)
        .map(|number| text(number, vec![piece(0.0, &[(1, 1)]), piece(1.0, &[(2, 1)])]))
        .collect();
    futures::join!(
        keep(home, mine, &texts),
        keep(home, mine, &texts),
        keep(home, shelf(2, 1), &texts),
    );
    assert_eq!(home.count(mine).await.unwrap(), 78);
    assert_eq!(home.count(shelf(2, 1)).await.unwrap(), 78);
}
