//! The methods other than tools that workers answer: resources, prompts and completion.
//!
//! They are treated like tool calls, with the same breaker, deadline, retries and pass: none writes
//! anything that others read. Only failures look different. No result could carry one, so it is a
//! protocol error whose text includes the suggestion: some clients discard everything else.

use archway_proto::{catalog::Scope, failure::Failure, fault::Fault, meta, method::Method};
use axum::response::Response;
use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::{
    call::Calls,
    content::json_response,
    envelope::Envelope,
    era::Era,
    outcome::{OutcomeRecorder, RecordSubject, Stage},
    reply,
    request::RequestInfo,
    reservation::{self, attach},
    sdk::TTL_MS,
};
use crate::{
    audit::AnswerFacts,
    breaker::Permit,
    caller::Principal,
    catalog::Catalog,
    cursor::{CURSOR, CursorContext},
    error::GatewayError,
    metrics::Outcome,
    unread::Reservation,
    upstream::{self, CallGuard, Outgoing, Step},
};

/// How long a client may cache a resource, in milliseconds: files of a work tree change.
const READ_TTL_MS: u64 = 2_000;
/// Scheme of the resource that changes with each call.
const WORKFLOW: &str = "workflow:";

impl Calls {
    /// Answers a method other than `tools/call` and `tools/list`.
    #[tracing::instrument(
        name = "mcp.consult",
        level = "debug",
        skip_all,
        fields(mcp.method.name = method.name(), tenant.id = %who.tenant_id(), key.id = who.key_id(), session.id = %info.session.key, trace.id = %info.trace.trace_id(), span.id = %info.trace.span_id())
    )]
    pub(super) async fn forward(
        &self,
        who: &Principal,
        info: RequestInfo,
        method: Method,
        message: Envelope,
    ) -> Result<Response, GatewayError> {
        let subject = RecordSubject::method(method);
        let mut recorder =
            OutcomeRecorder::begin(&self.audit, &self.metrics, who, &info, subject).await;
        let request = WorkerRequest::of(method, message).inspect_err(|_bad| recorder.refused())?;
        recorder.set_arguments(&self.audit, &request.params);
        recorder.set_project(request.project().or_else(|| who.default_project()));
        if let Some(withheld) = request.withheld(who, &self.catalog) {
            recorder.refused();
            return Ok(request.answer(&info, withheld?, None));
        }
        let mut permit = None;
        let sent = self.send(who, &info, &request, (&mut recorder, &mut permit));
        let outcome = sent.await.and_then(|(result, reservation)| {
            recorder.reached(Stage::Answered);
            if let Some(permit) = permit.take() {
                permit.answered(false);
            }
            let read = self.parse(who, &request, &result);
            let read = read.map_err(|error| upstream::internal(info.trace, &error))?;
            read.map(|(read, facts)| (read, facts, reservation))
        });
        match outcome {
            Ok((result, mut facts, reservation)) => {
                let answer = request.answer(&info, result, reservation);
                facts.bytes = reservation::size(&answer) as u64;
                recorder.end(Outcome::Ok, info.received.elapsed(), facts);
                Ok(answer)
            }
            Err(failure) => {
                if let Some(permit) = permit.filter(|_| !upstream::is_refusal(&failure)) {
                    permit.failed(failure.code);
                }
                recorder.failed(&failure);
                Err(GatewayError::WorkerFailure(Box::new(failure)))
            }
        }
    }

    /// Waits for a permit and sends the request to a worker.
    async fn send(
        &self,
        who: &Principal,
        info: &RequestInfo,
        request: &WorkerRequest,
        (recorder, permit): (&mut OutcomeRecorder, &mut Option<Permit>),
    ) -> Result<(Bytes, Option<Reservation>), Failure> {
        let mut params = request.params.clone();
        if let Some(Value::String(cursor)) = params.get_mut(CURSOR) {
            *cursor = self.cursors.open(&request.context(who), cursor)?;
        }
        let params = Value::Object(params).to_string();
        let until = self.upstream.until(info.received);
        let call = Outgoing {
            who,
            method: request.method,
            params: params.into(),
            project: request.project().or_else(|| who.default_project()),
            idempotent: true,
            repeatable: true,
            session: info.session.key,
            trace: info.trace,
            until,
            owner: info.owner.clone(),
        };
        self.upstream.check_crashes(&call)?;
        recorder.reached(Stage::Checked);
        let (breaker, family) = (&self.breaker, request.family());
        let admitted = breaker.admit(who, family, info.received, until).await?;
        let bulkhead = admitted.bulkhead();
        *permit = Some(admitted);
        recorder.reached(Stage::Admitted);
        let mut events = self.upstream.call(call, CallGuard::new(bulkhead)).await?;
        loop {
            // No client requested the notifications of these methods.
            if let Step::Result(result) = events.next().await? {
                recorder.denied_by(events.take_refused_by());
                return Ok((result, events.take_reservation()));
            }
        }
    }

    /// The worker's result, or the failure that it carries.
    fn parse(
        &self,
        who: &Principal,
        request: &WorkerRequest,
        result: &[u8],
    ) -> Result<Result<MethodResult, Failure>, serde_json::Error> {
        let mut result: Map<String, Value> = serde_json::from_slice(result)?;
        let mut fields = match result.remove("_meta") {
            Some(Value::Object(fields)) => fields,
            _ => Map::new(),
        };
        if result.get("isError") == Some(&Value::Bool(true)) {
            let error = fields
                .get_mut(meta::ERROR)
                .and_then(|it| it.get_mut("error"));
            let error = error.map(Value::take).unwrap_or_default();
            return serde_json::from_value(error).map(Err);
        }
        if let Some(Value::String(plain)) = fields.remove(meta::CURSOR) {
            let sealed = self.cursors.seal(&request.context(who), &plain);
            // Without a cursor the list would end early without a sign of it, so the request fails.
            let Ok(sealed) = sealed else {
                let why = "the cursor of the next page could not be sealed";
                return Ok(Err(Failure::new(Fault::InternalError, why, "try again")));
            };
            result.insert("nextCursor".to_owned(), sealed.into());
        }
        let facts = reply::facts(&mut fields);
        result.insert("_meta".to_owned(), fields.into());
        Ok(Ok((result, facts)))
    }
}

/// A worker's result, and its facts for the audit trail.
type MethodResult = (Map<String, Value>, AnswerFacts);

/// A request to a worker.
struct WorkerRequest {
    method: Method,
    /// Those parameters of the message that the method takes.
    params: Map<String, Value>,
}

impl WorkerRequest {
    fn of(method: Method, mut message: Envelope) -> Result<Self, GatewayError> {
        let (needed, others): (&[&str], &[&str]) = match method {
            Method::ResourcesList | Method::PromptsList => (&[], &[CURSOR]),
            Method::ResourcesRead => (&["uri"], &[]),
            Method::PromptsGet => (&["name"], &["arguments"]),
            Method::Complete => (&[], &["ref", "argument", "context"]),
            Method::ResourceTemplatesList | Method::ToolsList | Method::ToolsCall => (&[], &[]),
        };
        let mut params = Map::new();
        for name in needed.iter().chain(others) {
            match message.params.remove(*name) {
                None | Some(Value::Null) => {}
                Some(value) => _ = params.insert((*name).to_owned(), value),
            }
        }
        let is_text = |name: &&&str| params.get(**name).is_some_and(Value::is_string);
        if needed.iter().any(|name| !is_text(&name)) {
            return Err(GatewayError::InvalidCallParams(match method {
                Method::PromptsGet => "the name of a prompt is needed, a string",
                _ => "the uri of a resource is needed, a string",
            }));
        }
        if params.get(CURSOR).is_some_and(|cursor| !cursor.is_string()) {
            return Err(GatewayError::InvalidCallParams("a cursor is a string"));
        }
        let is_list = method == Method::ResourceTemplatesList;
        let cursor = message.params.get(CURSOR).filter(|it| !it.is_null());
        if is_list && cursor.is_some() {
            return Err(GatewayError::InvalidCallParams(
                "this list has one page, and no cursor",
            ));
        }
        Ok(WorkerRequest { method, params })
    }

    /// The project that the request names, if any: used only to choose a worker.
    fn project(&self) -> Option<&str> {
        let text = |name| self.params.get(name).and_then(Value::as_str);
        match self.method {
            Method::ResourcesRead => {
                let (scheme, rest) = text("uri")?.split_once("://")?;
                let (project, rest) = rest.split_once('/')?;
                // `architecture://adr/x` belongs to the default project.
                let is_named = scheme != "architecture" || rest.contains('/');
                is_named.then_some(project)
            }
            Method::PromptsGet => text("name")?.split_once('/').map(|(project, _)| project),
            _ => None,
        }
    }

    /// The family under which the breaker counts the method.
    fn family(&self) -> &'static str {
        match self.method {
            Method::PromptsList | Method::PromptsGet => "prompts",
            _ => "resources",
        }
    }

    /// What cursors of this list are bound to.
    fn context(&self, who: &Principal) -> CursorContext {
        let (scope, project) = (who.cursor_scope(), who.default_project());
        CursorContext::new(&scope, self.method.name(), project, &Map::new())
    }

    /// What a caller reads who may not ask for this: an empty list, or a refusal. `None` for any other. To whom no tool
    /// is given, nothing is listed.
    fn withheld(
        &self,
        who: &Principal,
        catalog: &Catalog,
    ) -> Option<Result<Map<String, Value>, GatewayError>> {
        let reads = who.holds(Scope::ToolsRead);
        let list = match self.method {
            Method::ResourcesList => "resources",
            Method::ResourceTemplatesList => "resourceTemplates",
            Method::PromptsList => "prompts",
            _ => return (!reads).then(|| Err(who.lacks(Scope::ToolsRead))),
        };
        let has_none = catalog.tools().is_some_and(|it| it.gives_nothing(who));
        let empty = Map::from_iter([(list.to_owned(), json!([]))]);
        (!reads || has_none).then_some(Ok(empty))
    }

    /// How long the client may cache the answer, in milliseconds, in revisions that support it.
    fn ttl(&self) -> Option<u64> {
        let uri = self.params.get("uri").and_then(Value::as_str);
        match self.method {
            Method::ResourcesList | Method::ResourceTemplatesList | Method::PromptsList => {
                Some(TTL_MS)
            }
            Method::ResourcesRead if uri.is_some_and(|uri| uri.starts_with(WORKFLOW)) => Some(0),
            Method::ResourcesRead => Some(READ_TTL_MS),
            _ => None,
        }
    }

    /// The JSON-RPC message, with the fields that the revision requires.
    fn answer(
        &self,
        info: &RequestInfo,
        mut result: Map<String, Value>,
        reservation: Option<Reservation>,
    ) -> Response {
        let micros = u32::try_from(info.received.elapsed().as_micros()).unwrap_or(u32::MAX);
        let fields = result.entry("_meta").or_insert_with(|| json!({}));
        fields[meta::DURATION_MS] = json!(f64::from(micros) / 1000.0);
        if info.era == Era::Modern {
            result.insert("resultType".to_owned(), "complete".into());
            if let Some(ttl) = self.ttl() {
                result.insert("ttlMs".to_owned(), ttl.into());
                result.insert("cacheScope".to_owned(), "private".into());
            }
        }
        let message = json!({ "jsonrpc": "2.0", "id": info.id, "result": result });
        let mut message = message.to_string().into_bytes();
        message.shrink_to_fit();
        attach(reservation, message.len(), json_response(message))
    }
}
