//! `key rotate`: what it says of the keys, and what it refuses.

use super::Desk;

on_both! {
    async fn the_keys_are_told_changed_and_taken_back(db: TestDatabase) {
        let desk = Desk::new(&db);
        let fresh = desk.json(&["key", "rotate", "--status"]);
        assert_eq!((&fresh["state"], &fresh["older_keys_kept"]), (&"in use".into(), &0.into()), "{fresh}");
        assert_eq!(fresh["root_keys"], fresh["root_key_in_use"]);
        let rotated = desk.json(&["key", "rotate", "--detach"]);
        assert_eq!((&rotated["state"], &rotated["older_keys_kept"]), (&"being told to every node".into(), &1.into()), "{rotated}");
        assert!(rotated["key"].as_i64() > fresh["key"].as_i64());
        assert!(desk.refused(&["key", "rotate", "--detach"]).contains("wait for that"));
        // A new root key, made where there is none; the one in use cannot end itself by oversight.
        let file = desk.path().join("till.key.new");
        let path = file.display().to_string();
        let both = desk.json(&["key", "rotate", "--root", &path]);
        assert!(both["root_keys"].as_str().unwrap().contains(", ") && file.is_file(), "{both}");
        let checks = String::from_utf8(desk.run(&["--json", "doctor"]).stdout).unwrap();
        assert!(checks.contains("two root keys open the database"), "{checks}");
        let other = desk.path().join("another.key");
        assert!(desk.refused(&["key", "rotate", "--root", &other.display().to_string()]).contains("is being replaced"));
        assert!(!other.exists(), "what was made for nothing is gone");
        assert!(desk.refused(&["key", "rotate", "--finish"]).contains("names the root key of before"));
        let undone = desk.json(&["key", "rotate", "--undo"]);
        assert_eq!(undone["root_keys"], fresh["root_keys"], "{undone}");
        assert!(desk.refused(&["key", "rotate", "--finish"]).contains("nothing to finish"));
        assert!(file.is_file(), "a key that was one is never removed");
    }
}
