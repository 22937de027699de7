"""Fields that objects of Kubernetes may have and that mean nothing to a plan.

With what an import reads, these are all that the core API (v1, as of Kubernetes 1.34) defines. A field that is not here
is misspelled, or newer than this.
"""

from __future__ import annotations

OBJECT_META = frozenset(
    (
        *("name", "namespace", "generateName", "labels", "annotations", "uid", "resourceVersion", "generation"),
        *("creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "finalizers", "managedFields"),
        *("ownerReferences", "selfLink"),
    )
)
POD_SPEC = frozenset(
    (
        *("activeDeadlineSeconds", "affinity", "automountServiceAccountToken", "containers", "dnsConfig"),
        *("dnsPolicy", "enableServiceLinks", "ephemeralContainers", "hostAliases", "hostIPC", "hostNetwork"),
        *("hostPID", "hostUsers", "hostname", "hostnameOverride", "imagePullSecrets", "initContainers", "nodeName"),
        *("nodeSelector", "os", "overhead", "preemptionPolicy", "priority", "priorityClassName", "readinessGates"),
        *("resourceClaims", "resources", "restartPolicy", "runtimeClassName", "schedulerName", "schedulingGates"),
        *("securityContext", "serviceAccount", "serviceAccountName", "setHostnameAsFQDN", "shareProcessNamespace"),
        *("subdomain", "terminationGracePeriodSeconds", "tolerations", "topologySpreadConstraints", "volumes"),
        *("workloadRef"),
    )
)
CONTAINER = frozenset(
    (
        *("args", "command", "env", "envFrom", "image", "imagePullPolicy", "lifecycle", "livenessProbe", "name"),
        *("ports", "readinessProbe", "resizePolicy", "resources", "restartPolicy", "restartPolicyRules"),
        *("securityContext", "startupProbe", "stdin", "stdinOnce", "terminationMessagePath"),
        *("terminationMessagePolicy", "tty", "volumeDevices", "volumeMounts", "workingDir"),
    )
)
RESOURCES = frozenset(("requests", "limits", "claims"))
