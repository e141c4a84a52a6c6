//! Answers the queries of the front end. Files, other sessions' messages and servers are asked in the background; the
//! rest is read from the store at once.

use std::sync::Arc;

use super::client::ClientHandler;
use super::lists::{preview, search_sessions};
use crate::frontend::protocol::{ClientQuery, QueryAnswer, QueryId, RuleCheck, ServerMessage};

impl ClientHandler {
    /// Answers a query, at once or later.
    pub(super) async fn query(&mut self, id: QueryId, query: ClientQuery) {
        let app = Arc::clone(&self.app);
        let answer = match query {
            ClientQuery::Files => {
                let kind = self.app.world.kind_of(&self.folder);
                let found = self.files.below(self.folder.clone(), kind);
                let resources = self.app.servers.resources();
                return self.answer_later(id, async move {
                    let mut paths = found.await;
                    paths.extend(resources.iter().map(|one| format!("{}:{}", one.server, one.uri)));
                    QueryAnswer::Files { paths }
                });
            }
            ClientQuery::Preview { session } => {
                return self.answer_later(id, async move {
                    QueryAnswer::Preview { messages: preview(&app.store, &session).await }
                });
            }
            ClientQuery::SearchSessions { words } => {
                return self.answer_later(id, async move {
                    QueryAnswer::SearchSessions { hits: search_sessions(&app.store, &words).await }
                });
            }
            ClientQuery::Suggest { command, argument, typed } => {
                let target = self.completion_target(&command);
                return self.answer_later(id, async move {
                    let values = match target {
                        Some((server, of)) => app.servers.suggest(&server, of, &argument, &typed).await,
                        None => Vec::new(),
                    };
                    QueryAnswer::Suggest { values }
                });
            }
            ClientQuery::Handled => {
                let commands = self.background_commands.clone();
                return self.answer_later(id, async move {
                    commands.wait().await;
                    QueryAnswer::Handled
                });
            }
            ClientQuery::Sessions => self.sessions().await.map(|sessions| QueryAnswer::Sessions { sessions }),
            ClientQuery::Earlier => self.earlier().await.map(|lines| QueryAnswer::Earlier { lines }),
            ClientQuery::Inbox => self.inbox().await.map(|lines| QueryAnswer::Inbox { lines }),
            ClientQuery::Request { request } => {
                let found = self.app.store.find_request(&request.0).await;
                let request = found.map(Box::new).map_err(|error| format!("{error}."));
                Some(QueryAnswer::Request { request })
            }
            ClientQuery::DraftRule { request } => {
                Box::pin(self.rule_widths(&request)).await.map(|widths| QueryAnswer::DraftRule { widths })
            }
            ClientQuery::CheckRule { text } => {
                let past = Box::pin(self.effect_on_past(&text)).await;
                Some(QueryAnswer::CheckRule { check: RuleCheck { past } })
            }
        };
        let answer = answer.unwrap_or(QueryAnswer::Failed);
        self.tell(ServerMessage::Answer { id, answer }).await;
    }

    fn answer_later(&self, id: QueryId, answer: impl Future<Output = QueryAnswer> + Send + 'static) {
        let updates = self.updates.clone();
        tokio::spawn(async move {
            let answer = answer.await;
            // The front end may be gone.
            let _ = updates.notice(ServerMessage::Answer { id, answer }).await;
        });
    }
}
