//! The offers of a server besides tools: prompts and resources. All texts are the server's, made fit for terminals.

use std::time::Duration;

use rmcp::model::{
    ArgumentInfo, CompleteRequestParams, GetPromptRequestParams, ReadResourceRequestParams, Reference, Role,
};
use rmcp::service::{Peer, ServiceError};
use rmcp::{RoleClient, model};

use super::{Servers, names, result};
use crate::message::ReturnPart;
use crate::stdx::moment::duration;
use crate::stdx::text::sanitize_line;

/// How long a list, a prompt or a resource may take.
const ANSWER: Duration = Duration::from_secs(30);

/// How long a completion may take: the user is typing.
const COMPLETION: Duration = Duration::from_secs(2);

/// The most prompts, and the most resources, of one server.
const MOST: usize = 500;

/// A prompt that a server offers, as a slash command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerPrompt {
    pub server: String,
    pub name: String,
    /// In a line; may be empty.
    pub about: String,
    pub arguments: Vec<PromptArgument>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptArgument {
    pub name: String,
    pub is_required: bool,
}

/// A resource that a server offers, or a template of such.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerResource {
    pub server: String,
    /// With `{name}` at each place that a template leaves open.
    pub uri: String,
    /// In a line; may be empty.
    pub about: String,
    pub is_template: bool,
}

/// The prompt or template of an argument for which a server suggests values.
#[derive(Debug, Clone)]
pub enum CompletionTarget {
    /// By its name.
    Prompt(String),
    /// By its URI with `{name}` at each open place.
    Template(String),
}

/// A text of a server, and the images in it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ServerText {
    pub text: String,
    pub images: Vec<ReturnPart>,
}

/// The offers of one server.
#[derive(Clone, Default)]
pub struct Offers {
    pub prompts: Vec<ServerPrompt>,
    pub resources: Vec<ServerResource>,
}

/// Whether a text can be typed as one word, and shown as it is.
fn is_word(text: &str) -> bool {
    !text.is_empty() && !text.contains(char::is_whitespace) && sanitize_line(text) == text
}

impl Offers {
    /// Lists the prompts and resources of a server; none if it fails. Bounded in time.
    pub async fn of(server: &str, peer: &Peer<RoleClient>) -> Self {
        let can = peer.peer_info().map(|info| info.capabilities.clone()).unwrap_or_default();
        let mut offers = Self::default();
        if can.prompts.is_some() {
            let listed = in_time(ANSWER, peer.list_all_prompts()).await.unwrap_or_default();
            let usable = listed.into_iter().filter(|prompt| is_word(&prompt.name)).take(MOST);
            offers.prompts = usable.map(|prompt| ServerPrompt::of(server, prompt)).collect();
        }
        if can.resources.is_some() {
            let resource = |uri: &str, about: &str, is_template| ServerResource {
                server: server.to_owned(),
                uri: uri.to_owned(),
                about: names::line(about),
                is_template,
            };
            let listed = in_time(ANSWER, peer.list_all_resources()).await.unwrap_or_default();
            let all =
                listed.iter().map(|one| resource(&one.uri, one.title.as_ref().unwrap_or(&one.name), false));
            offers.resources.extend(all.filter(|one| is_word(&one.uri)).take(MOST));
            let listed = in_time(ANSWER, peer.list_all_resource_templates()).await.unwrap_or_default();
            let all = listed
                .iter()
                .map(|one| resource(&one.uri_template, one.title.as_ref().unwrap_or(&one.name), true));
            offers.resources.extend(all.filter(|one| is_word(&one.uri)).take(MOST));
        }
        offers
    }
}

impl ServerPrompt {
    fn of(server: &str, prompt: model::Prompt) -> Self {
        let about = prompt.description.or(prompt.title).unwrap_or_default();
        let arguments = prompt.arguments.unwrap_or_default().into_iter();
        let usable = arguments.filter(|one| is_word(&one.name) && !one.name.contains('='));
        Self {
            server: server.to_owned(),
            name: prompt.name,
            about: names::line(&about),
            arguments: usable
                .map(|one| PromptArgument { name: one.name, is_required: one.required == Some(true) })
                .collect(),
        }
    }

    /// Returns the form of its arguments: `city=… [units=…]`.
    #[must_use]
    pub fn usage(&self) -> String {
        let one = |argument: &PromptArgument| match argument.is_required {
            true => format!("{}=…", argument.name),
            false => format!("[{}=…]", argument.name),
        };
        self.arguments.iter().map(one).collect::<Vec<_>>().join(" ")
    }
}

impl Servers {
    /// Gets a prompt with its arguments filled in. Errs with the reason.
    pub async fn prompt(
        &self,
        server: &str,
        name: &str,
        arguments: Vec<(String, String)>,
    ) -> Result<ServerText, String> {
        let mut params = GetPromptRequestParams::new(name);
        params.arguments = Some(arguments.into_iter().map(|(name, value)| (name, value.into())).collect());
        let peer = self.peer(server).await?;
        let got = in_time(ANSWER, peer.get_prompt(params)).await?;
        let mut all = ServerText::default();
        for message in got.messages {
            let (text, images) = result::content(std::slice::from_ref(&message.content));
            if !all.text.is_empty() {
                all.text.push_str("\n\n");
            }
            if message.role == Role::Assistant {
                all.text.push_str("[as if you had said:]\n");
            }
            all.text.push_str(&text);
            all.images.extend(images);
        }
        Ok(all)
    }

    /// Reads a resource. Errs with the reason.
    pub async fn read(&self, server: &str, uri: &str) -> Result<ServerText, String> {
        let params = ReadResourceRequestParams::new(uri);
        let peer = self.peer(server).await?;
        let got = in_time(ANSWER, peer.read_resource(params)).await?;
        let (texts, images): (Vec<String>, Vec<Option<ReturnPart>>) =
            got.contents.iter().map(result::resource).unzip();
        Ok(ServerText { text: texts.join("\n"), images: images.into_iter().flatten().collect() })
    }

    /// Returns what the server suggests for an argument; nothing if it does not answer at once.
    pub async fn suggest(
        &self,
        server: &str,
        of: CompletionTarget,
        argument: &str,
        typed: &str,
    ) -> Vec<String> {
        let of = match of {
            CompletionTarget::Prompt(name) => Reference::for_prompt(name),
            CompletionTarget::Template(uri) => Reference::for_resource(uri),
        };
        let params = CompleteRequestParams::new(of, ArgumentInfo::new(argument, typed));
        let asked = async {
            let peer = self.peer(server).await?;
            in_time(COMPLETION, peer.complete(params)).await
        };
        let found = tokio::time::timeout(COMPLETION, asked).await.ok().and_then(Result::ok);
        let values = found.map(|found| found.completion.values).unwrap_or_default();
        values.into_iter().filter(|value| is_word(value)).collect()
    }

    async fn peer(&self, server: &str) -> Result<Peer<RoleClient>, String> {
        let server =
            self.server_in_use(server).ok_or_else(|| format!("there is no tool server {server} in use"))?;
        server.peer().await
    }
}

async fn in_time<T>(
    limit: Duration,
    answer: impl Future<Output = Result<T, ServiceError>>,
) -> Result<T, String> {
    match tokio::time::timeout(limit, answer).await {
        Ok(answer) => answer.map_err(|error| names::error(&error.to_string())),
        Err(_) => Err(format!("it did not answer within {}", duration(limit))),
    }
}
