//! Pages that are of no side keep the ways of whoever is signed in, and what people do on them is told with its address.

use scraper::Selector;

use super::desk::{ADMIN, MEMBER, signed_in, site};
use super::visitor::Visitor;

/// What leads on from a page beside its content.
async fn ways(visitor: &mut Visitor, path: &str, status: u16) -> Vec<String> {
    let page = visitor.get(path).await;
    assert_eq!(page.status, status, "{path}: {}", page.text_of("main"));
    let links = Selector::parse("nav.side a").unwrap();
    page.html().select(&links).filter_map(|a| a.attr("href").map(str::to_owned)).collect()
}

on_both! {
    async fn a_page_that_is_not_there_leads_back(db: TestDatabase) {
        let (site, shop) = site(db).await;
        let mut member = signed_in(&site, MEMBER).await;
        let payments = format!("/dashboard/payments?business={}", shop.id);
        for (path, status) in
            [("/me", 200), ("/nowhere", 404), ("/dashboard/payments/none", 404), ("/dashboard?business=77", 404), ("/operator", 404)]
        {
            let found = ways(&mut member, path, status).await;
            assert_eq!(found.contains(&payments), path != "/operator", "{path}: {found:?}");
        }
        let mut staff = signed_in(&site, ADMIN).await;
        for (path, status) in [("/me", 200), ("/nowhere", 404), ("/operator/alerts/77", 404), ("/dashboard", 404)] {
            let found = ways(&mut staff, path, status).await;
            assert!(found.contains(&"/operator/alerts".to_owned()), "{path}: {found:?}");
        }
        let mut nobody = site.visitor();
        assert!(ways(&mut nobody, "/nowhere", 404).await.is_empty());
        site.close().await;
    }

    async fn what_is_done_on_a_page_is_told_with_its_address(db: TestDatabase) {
        let (site, _) = site(db).await;
        let mut staff = signed_in(&site, ADMIN).await;
        let page = staff.get("/operator/activity").await;
        let html = page.html();
        let rows = Selector::parse("tbody tr").unwrap();
        let signed_in: Vec<String> = html
            .select(&rows)
            .map(|row| row.text().collect::<String>())
            .filter(|row| row.contains("sign in"))
            .collect();
        assert!(!signed_in.is_empty(), "{}", page.text_of("main"));
        assert!(signed_in.iter().all(|row| row.contains("127.0.0.1") && !row.contains("command line")), "{signed_in:?}");
        site.close().await;
    }
}
