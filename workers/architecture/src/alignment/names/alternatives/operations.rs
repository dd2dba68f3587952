//! Running, deploying and monitoring software.

use super::Group;

/// Groups of alternatives.
#[rustfmt::skip]
pub(super) const GROUPS: &[Group] = &[
    // Service platforms.
    ("platform", "kubernetes, k8s, kube, eks, gke, aks, k3s; nomad; docker swarm, swarm; docker compose; \
        ecs, fargate, aws ecs; lambda, aws lambda, lambdas, cloud functions, azure functions, cloud function, serverless, \
        functions as a service, faas, serverless functions; cloud run; heroku; fly io; app engine; app runner; \
        elastic beanstalk; cloud foundry; dokku; railway; mesos; openshift; \
        virtual machine, virtual machines, vm, vms, ec2; bare metal, bare metal server, bare metal servers; systemd"),
    // Cloud providers.
    ("cloud", "aws, amazon web services; azure, microsoft azure; gcp, google cloud, google cloud platform; hetzner; ovh, ovhcloud; \
        digitalocean, digital ocean; linode; scaleway; ibm cloud; oracle cloud; alibaba cloud; exoscale; ionos; \
        on premises, on premise, on prem, own data centre, own data center, own datacenter, server room"),
    ("container", "docker; podman; containerd; cri o; lxc, lxd; buildah; kaniko; buildpacks"),
    ("image", "alpine; distroless; debian; ubuntu; rhel, red hat, red hat enterprise linux; centos; rocky linux; amazon linux; \
        fedora; nixos; windows server; freebsd; scratch image; opensuse, suse; flatcar; talos"),
    // Descriptions of charts and infrastructure.
    ("chart", "helm; kustomize; jsonnet; plain manifests, raw manifests; cdk8s"),
    ("infrastructure", "terraform, opentofu; pulumi; cloudformation; aws cdk, cdk; bicep, arm templates, arm template; crossplane; \
        ansible; puppet; chef; saltstack, salt; vagrant; \
        clicking in the console, by clicking, the web console, cloud console, aws console, click ops, clickops"),
    // Continuous integration.
    ("ci", "github actions, gh actions, actions; gitlab ci; jenkins; circleci, circle ci; travis, travis ci; \
        teamcity; bamboo; buildkite; drone, drone ci; azure devops, azure pipelines; concourse; tekton; gocd; \
        codebuild, codepipeline; semaphore; woodpecker; appveyor; bitbucket pipelines; cloud build; dagger"),
    // Delivery.
    ("delivery", "argo cd, argocd; flux, fluxcd, flux cd; spinnaker; octopus deploy; capistrano; codedeploy; \
        kubectl apply, kubectl; ftp upload; scp; rsync; deploy script; fabric"),
    ("rollout", "blue green, blue green deployment; canary, canary release, canary releases, canaries; rolling update, rolling updates; \
        big bang, all at once"),
    // Artefact registries.
    ("registry", "artifactory; nexus; harbor; ghcr, github container registry; ecr; docker hub; gcr; quay; github packages; \
        verdaccio; gitlab registry"),
    // Secrets.
    ("secret", "vault, hashicorp vault, openbao; sealed secrets; sops; kubernetes secrets, k8s secrets, kubernetes secret; \
        secret manager, secrets manager, aws secrets manager, azure key vault, key vault, parameter store; \
        env file, dotenv, env files; doppler; git crypt; infisical; conjur; 1password; bitwarden; \
        external secrets; credstash; ansible vault"),
    // Feature flags.
    ("flag", "unleash; launchdarkly; flagsmith; split io; configcat; growthbook; optimizely; flags table, table of flags; flipt; \
        flipper; statsig; flagd; posthog flags; home grown flags"),
    ("configuration", "etcd; zookeeper; consul; eureka; spring cloud config; app configuration"),
    // Logs.
    ("log", "loki, grafana loki; elasticsearch, elastic; elk, elk stack, elastic stack, efk; opensearch; logstash; kibana; splunk; \
        datadog; new relic, newrelic; graylog; cloudwatch logs, cloudwatch; sumo logic; papertrail; loggly; logtail; \
        stackdriver; syslog; journald"),
    // Metrics.
    ("metric", "prometheus; influxdb; graphite; nagios; zabbix; icinga; checkmk; datadog; new relic; dynatrace; cloudwatch; \
        mimir; thanos; cortex; victoriametrics; stackdriver; munin; statsd; pushgateway"),
    // Traces.
    ("trace", "tempo; jaeger; zipkin; datadog; new relic; dynatrace; honeycomb; lightstep; x ray, aws x ray; \
        elastic apm; skywalking; appdynamics"),
    // Errors.
    ("error", "sentry; bugsnag; rollbar; raygun; airbrake; glitchtip; crashlytics; honeybadger"),
    // Dashboards.
    ("dashboard", "grafana; kibana; datadog; perses; cloudwatch dashboards"),
    ("telemetry", "prometheus; splunk; elk, elk stack; datadog; new relic; dynatrace; honeycomb; cloudwatch; grafana stack, lgtm stack; \
        azure monitor; instana"),
    ("collector", "fluentd; fluent bit, fluentbit; logstash; vector dev; promtail; filebeat; telegraf; grafana alloy; \
        otel collector, opentelemetry collector"),
    // Instrumentation.
    ("instrumentation", "opentelemetry, otel, otlp; opentracing; opencensus; statsd; micrometer; \
        vendor agent, proprietary agent, vendor sdk, datadog agent, new relic agent"),
    // On-call alerting.
    ("on call", "pagerduty; opsgenie; victorops; grafana oncall; incident io; xmatters; alertmanager; pingdom; uptimerobot"),
    // Meshes, proxies and gateways.
    ("mesh", "istio; linkerd; consul connect; kuma; cilium; app mesh"),
    ("proxy", "nginx; haproxy; traefik; envoy; caddy; apache httpd, httpd; f5; alb, application load balancer; pound; squid"),
    ("gateway", "kong; apigee; tyk; aws api gateway, amazon api gateway; krakend; zuul; spring cloud gateway; ocelot; \
        azure api management; gravitee; mulesoft; wso2"),
    ("cdn", "cloudflare; fastly; akamai; cloudfront; bunny cdn, bunnycdn; keycdn; azure front door"),
    ("vpn", "wireguard; openvpn; ipsec; tailscale; zerotier; bastion, bastion host, jump host; teleport"),
    ("certificate", "let's encrypt, let encrypt, lets encrypt, acme, cert manager; digicert; own ca, private ca, self signed; acm"),
    // Load tests.
    ("load test", "k6; jmeter; gatling; locust; artillery; wrk; vegeta"),
    ("chaos", "chaos monkey; litmus; gremlin; chaos mesh; toxiproxy"),
];
