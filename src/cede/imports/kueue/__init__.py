"""Kueue: its Kubernetes objects, with the cluster's nodes and pods if given, as a cluster file.

One file a kind of object. Field names and defaults are those of the APIs `kueue.x-k8s.io` v1beta1 and v1beta2.
"""
