"""Checks the pods of renders against Kubernetes' Pod Security Standard "restricted".

Usage: restricted.py FOLDER. Rules for Windows are left out: the chart's images are for Linux, and a pod
that states otherwise is refused.
"""

import sys

from manifests import containers, renders, template, title

VOLUMES = {
    "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim",
    "projected", "secret",
}
SYSCTLS = {
    "kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.ip_unprivileged_port_start", "net.ipv4.ping_group_range", "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl", "net.ipv4.tcp_keepalive_probes", "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_rmem", "net.ipv4.tcp_syncookies", "net.ipv4.tcp_wmem",
}
SELINUX_TYPES = {None, "", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"}
SECCOMP = {"RuntimeDefault", "Localhost"}
PROBES = ("startupProbe", "readinessProbe", "livenessProbe")


def violations(document):
    """What the standard forbids in a document's pod, in words."""
    found = template(document)
    if found is None:
        return []
    pod = found.get("spec") or {}
    complaints = [*of_annotations(found), *of_pod(pod), *of_context("pod", pod.get("securityContext"))]
    for container in containers(pod):
        complaints += of_container(container, pod.get("securityContext") or {})
    return [f"{title(document)}: {complaint}" for complaint in complaints]


def of_annotations(found):
    annotations = (found.get("metadata") or {}).get("annotations") or {}
    for name, value in annotations.items():
        if name.startswith("container.apparmor.security.beta.kubernetes.io/"):
            if value != "runtime/default" and not value.startswith("localhost/"):
                yield f"AppArmor is {value}"


def of_pod(pod):
    for field in ("hostNetwork", "hostPID", "hostIPC"):
        if pod.get(field):
            yield f"{field} is set"
    if (pod.get("os") or {}).get("name", "linux") != "linux":
        yield "is not for Linux"
    for volume in pod.get("volumes") or []:
        for kind in set(volume) - {"name"} - VOLUMES:
            yield f"volume {volume['name']} is a {kind}"
    for sysctl in (pod.get("securityContext") or {}).get("sysctls") or []:
        if sysctl.get("name") not in SYSCTLS:
            yield f"sysctl {sysctl.get('name')} is set"


def of_context(whose, context):
    """What neither the security context of a pod nor of a container may contain."""
    context = context or {}
    selinux = context.get("seLinuxOptions") or {}
    if selinux.get("type") not in SELINUX_TYPES or selinux.get("user") or selinux.get("role"):
        yield f"{whose}: SELinux options are {selinux}"
    if (context.get("appArmorProfile") or {}).get("type", "RuntimeDefault") == "Unconfined":
        yield f"{whose}: AppArmor is off"
    if (context.get("windowsOptions") or {}).get("hostProcess"):
        yield f"{whose}: hostProcess is set"
    if context.get("runAsUser") == 0:
        yield f"{whose}: runs as root"
    if context.get("runAsNonRoot") is False:
        yield f"{whose}: may run as root"


def of_container(container, pod_context):
    whose = container.get("name", "?")
    context = container.get("securityContext") or {}
    capabilities = context.get("capabilities") or {}
    yield from of_context(whose, context)
    if context.get("privileged"):
        yield f"{whose}: is privileged"
    if context.get("allowPrivilegeEscalation") is not False:
        yield f"{whose}: allowPrivilegeEscalation is not false"
    if "ALL" not in (capabilities.get("drop") or []):
        yield f"{whose}: does not drop ALL capabilities"
    if set(capabilities.get("add") or []) - {"NET_BIND_SERVICE"}:
        yield f"{whose}: adds capabilities"
    if not context.get("runAsNonRoot", pod_context.get("runAsNonRoot")):
        yield f"{whose}: runAsNonRoot is not set"
    seccomp = context.get("seccompProfile") or pod_context.get("seccompProfile") or {}
    if seccomp.get("type") not in SECCOMP:
        yield f"{whose}: has no seccomp profile"
    if context.get("procMount") not in (None, "Default"):
        yield f"{whose}: procMount is {context['procMount']}"
    yield from of_network(whose, container)


def of_network(whose, container):
    for port in container.get("ports") or []:
        if port.get("hostPort"):
            yield f"{whose}: takes the host's port {port['hostPort']}"
        if port.get("hostIP"):
            yield f"{whose}: takes the host's address {port['hostIP']}"
    hooks = (container.get("lifecycle") or {}).values()
    for handler in [*hooks, *(container.get(probe) or {} for probe in PROBES)]:
        for way in ("httpGet", "tcpSocket"):
            if (handler.get(way) or {}).get("host"):
                yield f"{whose}: a probe or hook asks another host"


def main():
    seen, complaints = 0, []
    for name, documents in renders(sys.argv[1]):
        for document in documents:
            seen += template(document) is not None
            complaints += [f"{name}: {violation}" for violation in violations(document)]
    if complaints:
        print("\n".join(complaints), file=sys.stderr)
        raise SystemExit("the chart's pods must keep to Pod Security's restricted profile")
    if not seen:
        raise SystemExit("no render has a pod: the check saw nothing")
    print(f"{seen} pods are restricted")


if __name__ == "__main__":
    main()
