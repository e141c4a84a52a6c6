//! Handles the user's lines: answers to the open question, commands of this front end, and all others, for the owner.
//!
//! An empty line approves nothing, nor does a line from before the question or before the whole request was printed,
//! except `Y` for the contents of a file. A high-risk request needs two lines.

use super::approvals::{MOST_HASTY, OpenQuestion, Origin, PAGE, QuestionStage, State};
use super::describe;
use super::edit;
use super::inbox::NONE_WAITING;
use super::page::LinePosition;
use super::state::{Plain, Source};
use crate::agent::port::Op;
use crate::approval::Approval;
use crate::command::{Entry, dispatch};
use crate::frontend::dialogue::{self, ApprovalEffect, Dialogue, SeenPart};
use crate::frontend::protocol::{ClientRequest, Header};
use crate::frontend::sentences;
use crate::stdx::text::one_line_summary;

const CHOICES: &str = "1 yes  2 no  3 edit  4 later  5 details. Choice: ";
const CONFIRM: &str = "HIGH risk: type yes to approve: ";
const ANSWER: &str = "Your answer, a number or words; an empty line goes back: ";

const REASON: &str = "Reason for the model, or an empty line for none: ";

const NO_CHOICE: &str =
    "Type 1, 2, 3, 4 or 5. To type anything else first: 4 postpones this one, \"later all\" postpones all.";
const CUT: &str = "A terminal line holds at most 4095 bytes, so the end of this one may be lost. It was not sent. \
                   Put a long text in a file and mention that.";

/// The commands of this front end, for `/help`.
const OWN_COMMANDS: &str = "/decide: go through the waiting approvals\n/inbox: list the waiting requests of all sessions; /decide NUMBER asks about one of them\n/stop: stop the turn or command, like Ctrl+C\n/retry: \
                            retry now\n/open NUMBER: continue a session that /resume \
                            listed\nA line that ends in \\ continues on the next one.";

impl Plain {
    /// Takes several lines that arrived at once: one prompt, which is sent with the line that the user enters next. They
    /// answer no question.
    pub(super) fn on_paste(&mut self, lines: &[String]) {
        if self.approvals.open.is_some() || self.cap.is_some() {
            return self.typed_before(lines.to_vec(), "");
        }
        self.page.on_enter();
        for line in lines {
            self.begun.push_str(line.strip_suffix('\r').unwrap_or(line));
            self.begun.push('\n');
        }
        self.page.line(&format!("Pasted {} lines. Add words if you like; Enter sends it all.", lines.len()));
    }

    /// Handles a line of the user.
    pub(super) fn handle(&mut self, text: &str) {
        let text = text.strip_suffix('\r').unwrap_or(text);
        let written_at = self.page.at();
        if self.setup.echoes {
            self.page.on_enter();
        } else {
            self.page.entered_unseen(text);
        }
        if self.is_cut(text) {
            return self.page.line(CUT);
        }
        if self.approvals.open.is_some() {
            return self.answer(text);
        }
        let Some(text) = self.join_line(text) else { return };
        if self.own_command(&text) {
            return;
        }
        if self.approvals.asks() {
            return self.keep(text);
        }
        let Some(text) = self.answers_cap(text) else { return };
        if self.setup.echoes
            && self.cap.is_none()
            && written_at == LinePosition::Prompt
            && let Entry::Prompt { text } = dispatch(&text)
        {
            self.echoed = Some(text);
        }
        self.say(text);
    }

    /// Returns the line joined with those before it that ended in a backslash; `None` if it continues.
    fn join_line(&mut self, text: &str) -> Option<String> {
        if let Some(more) = text.strip_suffix('\\') {
            self.begun.push_str(more);
            self.begun.push('\n');
            return None;
        }
        Some(std::mem::take(&mut self.begun) + text)
    }

    /// Keeps a line until no question is open.
    fn keep(&mut self, text: String) {
        if text.trim().is_empty() {
            return;
        }
        if self.setup.source == Source::Terminal {
            self.page
                .line(&format!("Kept until the approvals are decided: {}", one_line_summary(&text, 300)));
        }
        self.ahead.push_back(text);
    }

    /// Records that the question is shown now; these lines, and the beginning of one, were typed before.
    pub(super) fn typed_before(&mut self, before: Vec<String>, begun: &str) {
        let now = self.now_ms;
        if let Some(open) = &mut self.approvals.open {
            open.dialogue.show((), now);
        }
        let mut before = self.cap_asked(before);
        if self.ahead.is_empty() && self.begun.is_empty() {
            let answers = before.iter().take_while(|line| is_choice(line)).count();
            self.no_answers(&before.drain(..answers).collect::<Vec<_>>());
        }
        for line in before {
            if let Some(line) = self.join_line(&line) {
                if self.cap.is_some() {
                    // A prompt that was typed ahead is queued by the running turn.
                    self.say(line);
                    continue;
                }
                self.keep(line);
            }
        }
        if !begun.is_empty() {
            let begun = one_line_summary(begun, 300);
            self.page.line(&format!("You were typing: {begun}"));
            self.page.line("It was not sent; type it again after the request.");
        }
    }

    /// Rejects lines that look like answers but are older than the question: they are not prompts either.
    fn no_answers(&mut self, lines: &[String]) {
        let [line, more @ ..] = lines else { return };
        let line = line.trim();
        let (lines, verb) = match more.len() {
            0 => (format!("\"{line}\" was"), "does"),
            more => (format!("\"{line}\" and {more} more were"), "do"),
        };
        self.page.line(&format!("{lines} typed before the request and {verb} not answer it."));
    }

    /// Executes a command of this front end; returns whether it was one.
    fn own_command(&mut self, text: &str) -> bool {
        let (command, args) = text.trim_end().split_once(' ').unwrap_or((text.trim_end(), ""));
        match (command, args.trim()) {
            ("/open", number) => self.open_session(number),
            ("/inbox", words) => self.want_inbox(words),
            ("/decide", "") => {
                if self.approvals.bring_back(None) == 0 && !self.approvals.asks() {
                    self.page.line(NONE_WAITING);
                }
            }
            ("/decide", number) => self.decide_listed(number),
            ("/stop", "") => {
                if !self.stop() {
                    self.page.line("Nothing is running.");
                }
            }
            // Between turns it is the command of all front ends, which sends the last prompt again.
            ("/retry", "") if self.turn_runs => self.send(ClientRequest::Op(Op::RetryNow)),
            ("/help", "") => {
                self.page.line("commands of plain mode:");
                self.page.block(OWN_COMMANDS, "  ");
                return false;
            }
            _ => return false,
        }
        true
    }

    /// Asks the next question.
    pub(super) fn ask(&mut self) {
        let of = self.approvals.round();
        let Some(entry) = self.approvals.next() else { return };
        let (request, number, origin) = (entry.request.clone(), entry.number, entry.origin.clone());
        let header = self.header.clone().map(|header| match &origin {
            Origin::Own => header,
            Origin::Elsewhere { folder, .. } => Header { workspace: folder.clone(), ..header },
        });
        let mut rows = describe::body(&request);
        let body = rows.len();
        rows.extend(describe::facts(&request, header.as_ref()));
        if let Origin::Elsewhere { title, .. } = &origin {
            self.page.line(&format!("From another session, {title}:"));
        }
        self.page.line(&describe::question(&request, number, of));
        let printed = if body <= PAGE {
            self.page.block(&rows[..body].join("\n"), "    ");
            body
        } else {
            let unread = if request.may_be_unread() { "; Y approves them unread" } else { "" };
            let text = format!("    It has {body} lines. 5 prints them; approve after the last one{unread}.");
            self.page.line(&text);
            0
        };
        self.page.prompt(&format!("  {CHOICES}"));
        let open = OpenQuestion {
            args: request.args.clone(),
            written: None,
            request,
            number,
            stage: QuestionStage::Choice,
            rows,
            body,
            printed,
            dialogue: Dialogue::of_lines(),
            hasty: 0,
            repeated: 0,
        };
        self.approvals.open = Some(open);
        self.asked = true;
    }

    /// Repeats the open question's own line after other output.
    pub(super) fn ask_again(&mut self) {
        let Some(open) = &self.approvals.open else { return };
        let text = match open.stage {
            QuestionStage::Choice => {
                &format!("Approval {} of {}: {CHOICES}", open.number, self.approvals.round())
            }
            QuestionStage::Confirm => CONFIRM,
            QuestionStage::Reason => REASON,
            QuestionStage::Answer => ANSWER,
            QuestionStage::Edit => edit::ARGUMENTS,
            QuestionStage::Changed => edit::APPROVES,
            QuestionStage::Away => return,
        };
        self.page.prompt(&format!("  {text}"));
    }

    /// Handles a line while a question is open.
    fn answer(&mut self, text: &str) {
        let now = self.now_ms;
        let Some(open) = &mut self.approvals.open else { return };
        let asks_owner = open.stage == QuestionStage::Choice && text.starts_with(['/', '!']);
        if asks_owner {
            if !self.own_command(text) {
                self.say(text.to_owned());
            }
            return;
        }
        // A reason leads only to a denial.
        if open.stage != QuestionStage::Reason && !open.dialogue.is_armed(now) {
            return self.hasty();
        }
        let word = text.trim().to_lowercase();
        match open.stage {
            QuestionStage::Choice if text.trim() == "Y" => match open.request.may_be_unread() {
                true => self.yes_having(SeenPart::All, Approval::yes()),
                false => self.page.line(&format!("Not approved: {}.", sentences::MAY_BE_UNREAD)),
            },
            QuestionStage::Choice => self.choose(&word),
            QuestionStage::Confirm if word == "yes" => {
                let approval = open.dialogue.approved_once().cloned().unwrap_or_else(Approval::yes);
                self.yes(approval);
            }
            QuestionStage::Confirm => {
                open.dialogue.withdraw();
                open.stage = QuestionStage::Choice;
                self.page.line("Not approved.");
            }
            QuestionStage::Reason => self.decide(dialogue::no(text)),
            QuestionStage::Answer => {
                let question = open.request.plan.question.as_ref();
                match question.and_then(|question| question.answering(&open.request.args, text)) {
                    Some(args) => {
                        let approval = dialogue::yes_to(&open.request, args, None);
                        self.yes(approval);
                    }
                    None => self.stage(QuestionStage::Choice),
                }
            }
            QuestionStage::Edit => self.change(text),
            QuestionStage::Changed => self.approve_changed(&word),
            QuestionStage::Away => {}
        }
    }

    /// Rejects a line that came too early: the guard time restarts.
    fn hasty(&mut self) {
        let now = self.now_ms;
        let Some(open) = &mut self.approvals.open else { return };
        open.dialogue.show_again(now);
        open.hasty += 1;
        if open.hasty <= MOST_HASTY {
            return self.tell(sentences::TOO_SOON);
        }
        match self.setup.source {
            Source::Terminal => self.all_later(),
            Source::Pipe => self.flood(),
        }
    }

    fn choose(&mut self, word: &str) {
        match word {
            "1" | "yes" if self.asks_for_words() => self.stage_anew(QuestionStage::Answer),
            "1" | "yes" => self.yes(Approval::yes()),
            "2" | "no" => self.stage(QuestionStage::Reason),
            "3" | "edit" => self.edit(),
            "4" | "later" => self.decide(Approval::Later),
            "5" | "details" => {
                if let Some(open) = &mut self.approvals.open {
                    let page = open.page().join("\n");
                    self.page.block(&page, "    ");
                }
            }
            "later all" => self.all_later(),
            "" => self.repeat(),
            _ => self.page.line(NO_CHOICE),
        }
    }

    /// Whether the open request is a question of the model, which needs an answer and no yes.
    fn asks_for_words(&self) -> bool {
        self.approvals.open.as_ref().is_some_and(|open| open.request.plan.question.is_some())
    }

    pub(super) fn stage(&mut self, stage: QuestionStage) {
        let Some(open) = &mut self.approvals.open else { return };
        open.stage = stage;
        self.ask_again();
    }

    /// Asks a further question: input that is already available does not answer it.
    pub(super) fn stage_anew(&mut self, stage: QuestionStage) {
        if let Some(open) = &mut self.approvals.open {
            open.dialogue.hide();
        }
        self.stage(stage);
        self.asked = true;
    }

    /// Repeats the question's sentence once; after that only its choices.
    fn repeat(&mut self) {
        let of = self.approvals.round();
        let Some(open) = &mut self.approvals.open else { return };
        open.repeated += 1;
        if open.repeated == 1 {
            let text = describe::question(&open.request, open.number, of);
            self.page.line(&text);
        }
    }

    pub(super) fn yes(&mut self, approval: Approval) {
        let Some(open) = &self.approvals.open else { return };
        self.yes_having(open.seen_part(), approval);
    }

    /// Takes an approval after this much was seen, or need not be.
    fn yes_having(&mut self, seen: SeenPart, approval: Approval) {
        let now = self.now_ms;
        let Some(open) = &mut self.approvals.open else { return };
        match open.dialogue.yes(approval, open.request.risk, seen, now) {
            ApprovalEffect::Send(approval) => self.decide(approval),
            ApprovalEffect::Once => self.stage_anew(QuestionStage::Confirm),
            ApprovalEffect::Unseen => self.page.line(&describe::unseen(&open.request)),
            ApprovalEffect::TooSoon => self.hasty(),
        }
    }

    /// Sends the decision on the open request.
    fn decide(&mut self, approval: Approval) {
        let Some(open) = self.approvals.open.take() else { return };
        self.page.line(&format!("Approval {}: {}.", open.number, approval.verdict(Some(&open.request))));
        let id = open.request.id;
        if self.approvals.get(&id).is_some_and(|entry| entry.origin != Origin::Own) {
            self.approvals.remove(&id);
        } else if approval != Approval::Later {
            self.approvals.mark(&id, State::Sent);
        } else {
            self.approvals.mark(&id, State::Postponed);
            // Between turns it is in the inbox already.
            if !self.turn_runs {
                return;
            }
        }
        self.send_and_wait(ClientRequest::Op(Op::decide(id, approval)));
    }

    fn all_later(&mut self) {
        self.page.line("All approvals postponed.");
        self.approvals.postpone_all();
        if self.turn_runs {
            self.send(ClientRequest::Op(Op::Defer));
        }
    }
}

/// Whether a line would answer a question.
fn is_choice(line: &str) -> bool {
    let line = line.trim().to_lowercase();
    matches!(line.as_str(), "1" | "2" | "3" | "4" | "5" | "y" | "yes" | "no" | "edit" | "later" | "details")
        || line == "later all"
}
